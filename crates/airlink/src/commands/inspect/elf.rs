//! Host ELFs and objects.

use airlink_diag::Finding;
use airlink_elf::{FileType, ObjectSummary, ObjectSymbol, SectionSummary, SectionUse};
use airlink_rt::{Manifest, ManifestChannel};
use serde_json::json;

use super::{View, plain, table};

/// Rows of a list shown; the rest is counted. `--format json` has them all.
const SHOWN_MAX: usize = 40;

/// A host ELF by its manifest.
pub fn host(name: &str, bytes: &[u8], summary: &ObjectSummary) -> Result<View, Finding> {
    let content = airlink_elf::manifest(bytes).map_err(|e| e.finding(name))?;
    let manifest: Manifest = serde_json::from_slice(content).map_err(|e| {
        Finding::error(airlink_diag::codes::AL0710, format!("the manifest of `{name}` cannot be read"))
            .found(e.to_string())
            .remedy("build the ELF again with this version of airlink")
    })?;
    let exported = airlink_elf::exported_symbols(bytes).map_err(|e| e.finding(name))?;
    let undefined = airlink_elf::undefined_symbols(bytes).map_err(|e| e.finding(name))?;
    let m = &manifest;
    let mut text =
        format!("{}: host ELF `{}` for {} on {}\n", plain(name), plain(&m.name), m.cpu.name(), plain(&m.target));
    text +=
        &format!("  {} arguments, {} launches, ABI {}, {}\n", m.args.len(), m.launches.len(), m.abi, sizes(summary));
    let args = m.args.iter().map(|a| {
        vec![a.index.to_string(), plain(&a.name), a.role.name().to_string(), plain(&a.ty), format!("{} bytes", a.bytes)]
    });
    text += &table("arguments", &args.collect::<Vec<_>>());
    let arg_name = |i: &usize| m.args.get(*i).map_or_else(|| i.to_string(), |a| plain(&a.name));
    let names = |list: &[usize]| list.iter().map(arg_name).collect::<Vec<_>>().join(", ");
    let launches = m.launches.iter().map(|l| {
        let access = format!("{} -> {}", names(&l.reads), names(&l.writes));
        vec![l.index.to_string(), plain(&l.name), plain(&l.kernel), access]
    });
    text += &table("launches (reads -> writes)", &launches.collect::<Vec<_>>());
    let size = |c: &ManifestChannel| c.size.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    let channels = m.channels.iter().map(|c| vec![plain(&c.name), size(c), plain(&c.ty), c.element.to_string()]);
    text += &table("channels (name, size, type, element)", &channels.collect::<Vec<_>>());
    let kernels = m.kernels.iter().map(|k| vec![plain(&k.symbol), plain(&k.object), plain(&k.source)]);
    text += &table("kernels (symbol, object, where it comes from)", &kernels.collect::<Vec<_>>());
    text += &table("entries", &capped(exported.iter().map(|s| vec![plain(s)])));
    text += &match undefined.is_empty() {
        true => "\nundefined\n  nothing: the file needs no library\n".to_string(),
        false => table("undefined", &capped(undefined.iter().map(|s| vec![plain(s)]))),
    };
    let json = json!({
        "schema": 1, "kind": "host_elf", "file": name, "manifest": manifest, "exported": exported, "undefined": undefined,
        "sizes": size_json(summary),
    });
    Ok(View { text, json, findings: Vec::new() })
}

/// Any other ELF file: a kernel object, a core's program, a library.
pub fn object(name: &str, summary: &ObjectSummary, sections: &[SectionSummary]) -> View {
    let what = match summary.file_type {
        FileType::Relocatable => "kernel object",
        FileType::Executable => "linked program, not an object",
        FileType::Shared => "shared library without a manifest of airlink",
        FileType::Core => "core dump",
        FileType::Other(_) => "ELF file of an unknown type",
    };
    let order = if summary.is_big_endian { "big-endian" } else { "little-endian" };
    let machine = summary.machine_name();
    let mut text = format!("{}: {what} for {machine}, ELF{}, {order}\n", plain(name), summary.class_bits);
    text += &format!("  {}\n", sizes(summary));
    let symbol = |s: &ObjectSymbol| {
        let place = s.section.clone().unwrap_or_else(|| "-".to_string());
        vec![plain(&s.name), binding(s).to_string(), format!("{} bytes", s.size_bytes), plain(&place)]
    };
    text += &table("defines", &capped(summary.defined().map(symbol)));
    text += &table("undefined", &capped(summary.undefined().map(|s| vec![plain(&s.name)])));
    text += &table("local", &capped(summary.locals().map(symbol)));
    let loaded = sections.iter().filter(|s| s.use_ != SectionUse::Other);
    let row = |s: &SectionSummary| vec![plain(&s.name), s.use_.as_str().to_string(), format!("{} bytes", s.size_bytes)];
    text += &table("sections that are loaded", &capped(loaded.map(row)));
    let kind = match summary.file_type {
        FileType::Relocatable => "kernel_object",
        _ => "elf",
    };
    let json = json!({ "schema": 1, "kind": kind, "file": name, "object": summary, "sections": sections });
    View { text, json, findings: Vec::new() }
}

fn binding(symbol: &ObjectSymbol) -> &'static str {
    match symbol.binding {
        airlink_elf::Binding::Local => "local",
        airlink_elf::Binding::Global => "global",
        airlink_elf::Binding::Weak => "weak",
    }
}

fn sizes(s: &ObjectSummary) -> String {
    format!(
        "{} bytes of code, {} constant, {} data, {} zeroed",
        s.text_bytes, s.rodata_bytes, s.data_bytes, s.bss_bytes
    )
}

fn size_json(s: &ObjectSummary) -> serde_json::Value {
    json!({ "text_bytes": s.text_bytes, "rodata_bytes": s.rodata_bytes, "data_bytes": s.data_bytes, "bss_bytes": s.bss_bytes })
}

/// The first rows, and how many more there are.
pub(super) fn capped(rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = rows.collect();
    if rows.len() > SHOWN_MAX {
        let rest = rows.len() - SHOWN_MAX;
        rows.truncate(SHOWN_MAX);
        rows.push(vec![format!("and {rest} more: --format json lists them")]);
    }
    rows
}
