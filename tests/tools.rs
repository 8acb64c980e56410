//! `init`, `inspect`, `doctor`, dependency files, and the example project.

use std::path::Path;
use std::process::Command;

use crate::project::{airlink, files, fixture, root};

#[test]
fn init_writes_a_graph_that_stitches_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = |path: &str| fixture(&format!("kernels/{path}")).to_str().unwrap().to_string();
    let (gemv, add) = (kernel("gemv/256x256_t8.air.mlir"), kernel("add/256.air.mlir"));
    airlink(folder.path(), &["init", &gemv, &add, &gemv, "-o", "g.toml"]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("g.toml")).unwrap();
    for part in [
        "# r  memref<256x256xbf16>",
        "# w  memref<256xbf16>",
        "@matvec_vectorized_bf16_bf16 of mv.o",
        "without a launch",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "-q"]).expect(0);
    assert!(folder.path().join("out/g.elf").exists());
    let again = airlink(folder.path(), &["init", &gemv, "-o", "g.toml"]).expect(3);
    assert!(again.stderr.contains("AL0802"), "a graph is not overwritten: {}", again.stderr);
    assert_eq!(text, std::fs::read_to_string(folder.path().join("g.toml")).unwrap());
}

#[test]
fn init_refuses_what_is_no_kernel() {
    let folder = fixture("bad/AL0209");
    let kernel = files(&folder).into_iter().find(|(n, _)| n.ends_with(".mlir")).expect("a kernel").0;
    let outcome = airlink(&folder, &["init", &kernel, "--message-format", "json"]).expect(1);
    assert_eq!(outcome.findings(), ["error AL0209"]);
}

#[test]
fn inspect_shows_elfs_objects_and_maps() {
    let folder = tempfile::tempdir().unwrap();
    let graph = fixture("graphs/nway.toml");
    airlink(folder.path(), &["stitch", graph.to_str().unwrap(), "-o", ".", "-q"]).expect(0);
    let show = |file: &str| airlink(folder.path(), &["inspect", file]).expect(0).stdout;
    let elf = show("nway.elf");
    for part in ["host ELF `nway` for x86-64-v3", "airlink_launch_3", "reference:gemv64@1", "mv_k768.o"] {
        assert!(elf.contains(part), "`{part}` is missing in\n{elf}");
    }
    let with_channels = fixture("graphs/channels.toml");
    airlink(folder.path(), &["stitch", with_channels.to_str().unwrap(), "-o", ".", "-q"]).expect(0);
    let elf = show("channels.elf");
    assert!(elf.contains("channels (name, size, type, element)") && elf.contains("npu_dma_stream"), "{elf}");
    assert!(show("mv_k768.o").contains("matvec_vectorized_bf16_bf16_k768"));
    assert!(show("nway.map.json").contains("link map of `nway`"));
    let json = airlink(folder.path(), &["inspect", "nway.elf", "--format", "json"]).expect(0).stdout;
    assert!(json.trim_start().starts_with('{'), "{json}");
    std::fs::write(folder.path().join("text"), "no ELF\n").unwrap();
    assert_ne!(airlink(folder.path(), &["inspect", "text"]).code, 0);
}

#[test]
fn doctor_says_what_each_target_can_do() {
    let outcome = airlink(&root(), &["doctor"]).expect(0);
    for part in ["with LLVM 22.", "linkers for host ELFs", "CPU level", "host  build", "npu2  build"] {
        assert!(outcome.stdout.contains(part), "`{part}` is missing in\n{}", outcome.stdout);
    }
}

#[test]
fn dependency_files_name_what_was_read() {
    let folder = tempfile::Builder::new().prefix("with blank ").tempdir().unwrap();
    std::fs::copy(fixture("kernels/add/256.air.mlir"), folder.path().join("a b.mlir")).unwrap();
    let graph = "[graph]\nname = \"g\"\ndevice = \"npu2\"\n[[launch]]\nname = \"a\"\nkernel = \"a b.mlir\"\nargs = [\"x\", \"y\", \"z\"]\n";
    std::fs::write(folder.path().join("g.toml"), graph).unwrap();
    let emit = ["stitch", "g.toml", "-o", "out", "--emit", "mlir", "-q"];
    airlink(folder.path(), &[&emit[..], &["-MD"]].concat()).expect(0);
    let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!(read("out/g.d").replace(" \\\n ", ""), "out/g.mlir: g.toml a\\ b.mlir\n");
    airlink(folder.path(), &[&emit[..], &["-MF", "deps", "-MP", "-MT", "all"]].concat()).expect(0);
    let deps = read("deps");
    assert!(deps.starts_with("all:") && deps.contains("\na\\ b.mlir:"), "{deps}");
}

#[test]
fn the_example_builds_in_parallel_and_again_only_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    copy(&root().join("examples/make_project"), folder.path());
    let make = || {
        let output = Command::new("make")
            .args(["-j", &format!("AIRLINK={}", env!("CARGO_BIN_EXE_airlink"))])
            .current_dir(folder.path())
            .output()
            .expect("make runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(make().matches(" stitch ").count(), 2);
    assert_eq!(make().matches(" stitch ").count(), 0);
    let kernel = folder.path().join("kernels/add_256.mlir");
    let text = std::fs::read_to_string(&kernel).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&kernel, text + "// changed\n").unwrap();
    let again = make();
    assert_eq!(again.matches(" stitch ").count(), 1, "{again}");
    assert!(again.contains("attention_out"), "{again}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Objects for the other machine hold what those for this one do; only a linker and a processor are missing.
#[test]
fn objects_for_aarch64_are_emitted_and_read() {
    let out = tempfile::tempdir().expect("a folder");
    let emit = |folder: &str, cpu: &str| {
        let args = ["stitch", "channels.toml", "-o", folder, "--emit", "obj", "--cpu", cpu, "-q"];
        airlink(&fixture("graphs"), &args).expect(0);
        files(std::path::Path::new(folder))
    };
    let [here, there] = ["x86-64-v3", "aarch64"].map(|cpu| out.path().join(cpu).to_str().expect("plain").to_string());
    let (kernels, objects) = (emit(&here, "x86-64-v3"), emit(&there, "aarch64"));
    let names = |list: &[(String, Vec<u8>)]| list.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
    assert_eq!(names(&objects), ["channels.elf.o", "mv.o", "silu_and_mul.o"]);
    assert_eq!(names(&kernels), ["mv.o", "silu_and_mul.o"]);
    // EM_AARCH64 of the ELF header.
    assert!(objects.iter().all(|(_, bytes)| bytes[18..20] == 183u16.to_le_bytes()));
    let symbols = |folder: &str, file: &str| -> serde_json::Value {
        let text = airlink(std::path::Path::new(folder), &["inspect", file, "--format", "json"]).expect(0).stdout;
        serde_json::from_str(&text).expect("JSON")
    };
    for (file, _) in &kernels {
        let (x86, arm) = (symbols(&here, file), symbols(&there, file));
        let defined = |v: &serde_json::Value| {
            let all = v["object"]["symbols"].as_array().expect("symbols").clone();
            let mut names: Vec<String> = all
                .iter()
                .filter(|s| s["binding"] == "global")
                .map(|s| s["name"].as_str().expect("a name").to_string())
                .collect();
            names.sort();
            names
        };
        assert!(!defined(&x86).is_empty(), "{x86}");
        assert_eq!(defined(&x86), defined(&arm), "{file}");
    }
    let text = airlink(std::path::Path::new(&there), &["inspect", "channels.elf.o"]).expect(0).stdout;
    assert!(text.contains("kernel object for AArch64") && text.contains("airlink_launch_3"), "{text}");
    for args in [&["stitch", "nway.toml"][..], &["verify", "nway.toml"]] {
        let outcome = airlink(&fixture("graphs"), &[args, &["--cpu", "aarch64"]].concat()).expect(2);
        assert!(outcome.stderr.contains("makes objects that are not linked"), "{}", outcome.stderr);
    }
}
