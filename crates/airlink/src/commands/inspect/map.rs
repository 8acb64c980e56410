//! Link maps.

use serde_json::{Value, json};

use super::{View, plain, table};

/// The index lists of a map, and what a host program does by them.
const LISTS: [(&str, &str); 3] = [
    ("static_input_indices", "written once, before the first run"),
    ("output_indices", "read after a run (output, inout)"),
    ("intermediate_indices", "not to be written before a run (intermediate, output, dead)"),
];

/// The summary of a link map; `None` if the bytes are none.
pub fn view(name: &str, bytes: &[u8]) -> Option<View> {
    let map: Value = serde_json::from_slice(bytes).ok()?;
    let (arguments, launches) = (map.get("arguments")?.as_array()?, map.get("launches")?.as_array()?);
    map.get("schema")?.as_u64()?;
    let device = map.get("device").and_then(Value::as_str).unwrap_or("no device");
    let mut text = format!(
        "{}: link map of `{}`, graph `{}`, {}\n  {} arguments, {} launches\n",
        plain(name),
        word(&map, "name"),
        word(&map, "graph"),
        plain(device),
        arguments.len(),
        launches.len()
    );
    let rows = arguments.iter().map(|a| {
        let size = a.get("bytes").and_then(Value::as_u64).map_or("no fixed size".to_string(), |n| format!("{n} bytes"));
        vec![word(a, "index"), word(a, "name"), word(a, "role"), word(a, "type"), size]
    });
    text += &table("arguments", &rows.collect::<Vec<_>>());
    let lists =
        LISTS.map(|(list, meaning)| vec![list.to_string(), format!("[{}]", words(map.get(list))), meaning.to_string()]);
    text += &table("index lists", &lists);
    let rows = launches.iter().map(|l| vec![word(l, "name"), word(l, "kernel"), words(l.get("args"))]);
    text += &table("launches", &rows.collect::<Vec<_>>());
    let rows = entries(&map, "renames")
        .map(|r| vec![word(r, "launch"), word(r, "kind"), format!("{} -> {}", word(r, "from"), word(r, "to"))]);
    text += &table("renames", &rows.collect::<Vec<_>>());
    let rows = entries(&map, "objects").map(|o| {
        let found = o.get("found").and_then(|f| f.get("path")).and_then(Value::as_str);
        vec![word(o, "file"), word(o, "link_with"), found.map_or("no file found".to_string(), plain)]
    });
    text += &table("objects (name here, link_with, file)", &rows.collect::<Vec<_>>());
    let rows = entries(&map, "cuts").map(|c| vec![format!("after {}", word(c, "after")), word(c, "reason")]);
    text += &table("cuts", &rows.collect::<Vec<_>>());
    Some(View {
        text,
        json: json!({ "schema": 1, "kind": "link_map", "file": name, "map": map }),
        findings: Vec::new(),
    })
}

fn entries<'a>(map: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    map.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A field as a word; `-` if there is none.
fn word(value: &Value, key: &str) -> String {
    match value.get(key) {
        Some(Value::String(text)) => plain(text),
        None | Some(Value::Null) => "-".to_string(),
        Some(other) => plain(&other.to_string()),
    }
}

fn words(list: Option<&Value>) -> String {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = list.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), plain));
    text.collect::<Vec<_>>().join(", ")
}
