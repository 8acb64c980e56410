//! One function per kind of table. Strings inside blocks keep their `{i}`; names are checked by the caller.

use airlink_diag::{Finding, Findings, codes};

use super::table::Table;
use super::{block, names};
use airlink_device::Device;

use crate::words::{printable, quoted_list, suggest};
use crate::{
    BufferEntry, CompilerOptions, ElfEntry, Fuse, HostEntry, KSplit, LaunchEntry, NSplit, Partition, PingPong, Placed,
    Role, RowSplit, StepEntry, ViewEntry,
};

/// `[[launch]]` at the top level.
pub fn launch(table: &mut Table) -> Option<StepEntry> {
    let entry = launch_template(table)?;
    names::check_launch(&entry, table.findings).then(|| StepEntry::Launch(Box::new(entry)))
}

/// `[[host]]` at the top level.
pub fn host(table: &mut Table) -> Option<StepEntry> {
    let entry = host_template(table)?;
    names::check_host(&entry, table.findings).then_some(StepEntry::Host(entry))
}

/// `[[buffer]]` at the top level.
pub fn buffer(table: &mut Table) -> Option<BufferEntry> {
    buffer_template(table).filter(|b| names::check(&b.name, "buffer", table.findings))
}

/// `[[view]]` at the top level.
pub fn view(table: &mut Table) -> Option<ViewEntry> {
    view_template(table).filter(|v| names::check_view(v, table.findings))
}

/// `"auto"`, `"off"` or a number from 1 up.
fn split<T: Copy>(table: &mut Table, key: &'static str, words: [T; 2], number: fn(u64) -> T) -> Option<Placed<T>> {
    let found = table.integer_or_word(key, 1, &["auto", "off"])?;
    let value = found.value.map_or_else(|word| words[word], number);
    Some(Placed::new(value, found.span))
}

pub fn launch_template(table: &mut Table) -> Option<LaunchEntry> {
    let name = table.required_string("name");
    let kernel = table.required_string("kernel");
    let args = table.required_strings("args");
    let func = table.string("func");
    let objects = table.string_map("objects");
    let refs = table.string_map("ref");
    let k_split = split(table, "k_split", [KSplit::Auto, KSplit::Off], KSplit::Parts);
    let row_split = split(table, "row_split", [RowSplit::Auto, RowSplit::Off], RowSplit::Launches);
    let n_split = split(table, "n_split", [NSplit::Auto, NSplit::Off], NSplit::Factor);
    let partition = table.integer_or_word("partition", 1, &["auto"]).map(|r| {
        let value = r.value.map_or(Partition::Auto, Partition::Launches);
        Placed::new(value, r.span)
    });
    let fuse = table.choice("fuse", &[("auto", Fuse::Auto), ("never", Fuse::Never)]);
    let elf = table.string("elf");
    let pdi = table.string("pdi");
    table.finish();
    let (name, kernel, args) = (name?, kernel?, args?);
    Some(LaunchEntry {
        name,
        kernel,
        args,
        func,
        objects,
        refs,
        k_split,
        row_split,
        n_split,
        partition,
        fuse,
        elf,
        pdi,
        block: None,
    })
}

pub fn host_template(table: &mut Table) -> Option<HostEntry> {
    let name = table.required_string("name");
    let reads = table.strings("reads");
    let writes = table.strings("writes");
    table.finish();
    let list = |l: Option<Placed<Vec<_>>>| l.map(|l| l.value).unwrap_or_default();
    Some(HostEntry { name: name?, reads: list(reads), writes: list(writes), block: None })
}

pub fn buffer_template(table: &mut Table) -> Option<BufferEntry> {
    let name = table.required_string("name");
    let ty = table.string("type");
    let role = table.choice("role", &Role::ALL);
    table.finish();
    Some(BufferEntry { name: name?, ty, role })
}

pub fn view_template(table: &mut Table) -> Option<ViewEntry> {
    let name = table.required_string("name");
    let of = table.required_string("of");
    let offsets = table.required_integers("offsets", 0);
    let sizes = table.required_integers("sizes", 1);
    let strides = table.integers("strides", 1);
    let ty = table.required_string("type");
    table.finish();
    Some(ViewEntry { name: name?, of: of?, offsets: offsets?, sizes: sizes?, strides, ty: ty? })
}

/// `[[elf]]`.
pub fn elf(table: &mut Table) -> Option<ElfEntry> {
    let name = table.required_string("name").filter(|n| names::check(n, "ELF", table.findings));
    let launches = table.required_strings("launches");
    let args = table.strings("args");
    let compiler = compiler(table);
    table.finish();
    Some(ElfEntry { name: name?, launches: launches?, args, compiler })
}

/// `[graph.compiler]` or `[elf.compiler]` below `table`.
pub fn compiler(table: &mut Table) -> CompilerOptions {
    let Some(mut table) = table.table("compiler") else { return CompilerOptions::default() };
    let options = CompilerOptions {
        ping_pong: table.choice("ping_pong", &PingPong::ALL),
        runtime_tiling: table.integers("runtime_tiling", 1),
        stack_bytes: table.integer("stack_bytes", 1),
        lock_fix: table.boolean("lock_fix"),
    };
    table.finish();
    options
}

/// Whether the device is one that mlir-aie knows.
pub fn check_device(device: &Placed<String>, findings: &mut Findings) -> bool {
    let known = Device::names();
    let is_known = known.contains(&device.value.as_str());
    if !is_known {
        // `npu2_8col` is not spelled wrong: it is all of `npu2`.
        let columns = |(_, part): &(&str, &str)| part.strip_suffix("col").is_some_and(|n| n.parse::<u32>().is_ok());
        let whole = device.value.rsplit_once('_').filter(columns).map(|(whole, _)| whole).filter(|w| known.contains(w));
        let remedy = match whole.or_else(|| suggest(&device.value, known.iter().copied())) {
            Some(near) => format!("write `{near}`"),
            None => "write `npu2` for Strix and Krackan, `npu1` for Phoenix and Hawk Point".to_string(),
        };
        findings.push(
            Finding::error(codes::AL0109, format!("unknown device `{}`", printable(&device.value)))
                .at(device.span, "")
                .allowed(quoted_list(&known))
                .source("`AIEDevice` of mlir-aie")
                .remedy(remedy),
        );
    }
    is_known
}

/// `[[block]]` without what is repeated.
pub fn block_head(table: &mut Table) -> Option<block::Head> {
    let name = table.required_string("name").filter(|n| names::check(n, "block", table.findings));
    let count = table.required_integer("count", 1);
    Some(block::Head { name: name?, count: count? })
}
