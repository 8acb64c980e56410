//! Paths as users write them: joined and cleaned by text alone, so that links and missing files don't change names.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

/// `path` seen from the folder of `file`, without needless `.` and `..`.
pub fn beside(file: &Utf8Path, path: &str) -> Utf8PathBuf {
    match file.parent() {
        Some(folder) => clean(&folder.join(path)),
        None => clean(Utf8Path::new(path)),
    }
}

/// Drops `.`, and `..` after a named folder.
pub fn clean(path: &Utf8Path) -> Utf8PathBuf {
    let mut out = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if matches!(out.components().next_back(), Some(Utf8Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other.as_str()),
        }
    }
    if out.as_str().is_empty() { Utf8PathBuf::from(".") } else { out }
}

/// `path` as seen from `folder`, where both are relative to one place or both absolute; else `path` itself.
pub fn relative(path: &Utf8Path, folder: &Utf8Path) -> Utf8PathBuf {
    let (path, folder) = (clean(path), clean(folder));
    if path.is_absolute() != folder.is_absolute() {
        return path;
    }
    let from: Vec<_> = folder.components().filter(|c| *c != Utf8Component::CurDir).collect();
    let to: Vec<_> = path.components().collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[shared..].contains(&Utf8Component::ParentDir) {
        return path;
    }
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().map(|c| c.as_str())).collect()
}
