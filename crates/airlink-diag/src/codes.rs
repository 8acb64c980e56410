//! Every code airlink can print, with its title and its page.
//!
//! Ranges follow the pipe: AL01 read, AL02 graph, AL03 limits, AL04 names, AL05 split and merge, AL06 check, AL07 emit,
//! AL08 machine, AL09 internal. A code is never reused.

use std::fmt;

/// A code such as `AL0301`. Only the table below makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(&'static Entry);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    name: &'static str,
    title: &'static str,
    page: &'static str,
}

macro_rules! codes {
    ($($name:ident $title:literal)*) => {
        $(
            #[doc = $title]
            pub const $name: Code = Code(&Entry {
                name: stringify!($name),
                title: $title,
                page: include_str!(concat!("../pages/", stringify!($name), ".md")),
            });
        )*
        /// Every code, in order.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    // AL01: reading TOML and IR.
    AL0101 "malformed TOML"
    AL0102 "malformed IR"
    AL0103 "a NUL byte in a text file"
    AL0104 "nested too deeply"
    AL0105 "not UTF-8"
    AL0106 "unknown key"
    AL0107 "wrong kind of value"
    AL0108 "missing key"
    AL0109 "value out of range"
    AL0110 "operation of a dialect that airlink does not read"

    // AL02: the launch graph.
    AL0201 "one name used twice"
    AL0202 "not a usable name"
    AL0203 "wrong number of arguments"
    AL0204 "types disagree"
    AL0205 "unknown buffer"
    AL0206 "view outside its buffer"
    AL0207 "view and type disagree"
    AL0208 "which function is the kernel"
    AL0209 "no launch in the kernel"
    AL0210 "nested module"
    AL0211 "the kernel returns values"
    AL0212 "declared buffer that nothing uses"
    AL0213 "declared role contradicts the dataflow"
    AL0214 "bare herd wrapped"
    AL0215 "cuts do not cover the launches in order"
    AL0216 "buffer used by the ELF but not in its args"
    AL0217 "buffer listed in args, undeclared and unused"
    AL0218 "unknown launch in an [[elf]]"
    AL0219 "read before it is written"
    AL0220 "input and output through one buffer"
    AL0221 "graph without launches"
    AL0222 "view at an offset"
    AL0224 "argument listed twice"
    AL0225 "object given for a name that nothing links with"
    AL0226 "overwritten while the ELF reads it"
    AL0227 "async launch nobody waits for"
    AL0228 "read by the host and never written"

    // AL03: limits of the device.
    AL0301 "buffer descriptors of a shim tile exhausted"
    AL0302 "too many buffer descriptors on a core or memtile"
    AL0303 "not enough shim DMA channels"
    AL0304 "not enough DMA channels of a core or memtile"
    AL0305 "herds do not fit the array"
    AL0306 "element width that no transfer moves"
    AL0307 "access that is not constant"
    AL0308 "not whole 32-bit words"
    AL0309 "too many runs of one push"
    AL0310 "L2 overflow"
    AL0311 "L1 overflow"
    AL0312 "program memory overflow"
    AL0313 "stride too long"
    AL0314 "size, length or rank of a buffer descriptor"
    AL0315 "push queue may overflow"
    AL0316 "odd number of PDI loads"
    AL0317 "transfers into one L2 buffer share a lock"
    AL0318 "not enough locks"
    AL0319 "too many host buffers"
    AL0320 "token awaited that nothing issues"
    AL0321 "one name in two launches"
    AL0322 "compile that takes very long"
    AL0323 "odd trip count under ping-pong"
    AL0324 "no full ELF for this device"
    AL0325 "routing at risk"
    AL0326 "access outside its buffer"
    AL0327 "DMA and channels in one segment"

    // AL04: names.
    AL0401 "new name is taken"
    AL0402 "declarations of one extern contradict"
    AL0403 "unknown symbol in a rename"
    AL0404 "object cannot be renamed"
    AL0405 "two variants, one content"
    AL0406 "object does not define the extern"
    AL0407 "definition that stays shared after a rename"
    AL0408 "herd and declaration name different objects"

    // AL05: split and merge.
    AL0501 "attributes contradict"
    AL0502 "operation that cannot be merged"
    AL0503 "K that cannot be split so"
    AL0504 "more launches in one ELF than asked for"
    AL0505 "number of launches that the grid does not have"
    AL0506 "launch that cannot be cut into several"
    AL0507 "columns of the device left unused"
    AL0508 "given cuts cost more than the best"
    AL0509 "partition that does not fit"
    AL0510 "number of columns that a launch cannot have"
    AL0511 "launch that cannot have more columns"

    // AL06: check.
    AL0601 "fused module does not verify"
    AL0602 "wiring differs from the plan"
    AL0603 "launch differs from its kernel"

    // AL064: NPU ELFs and control code.
    AL0640 "one configuration loaded twice in a row"
    AL0641 "first and last configuration are one"
    AL0642 "transfer that nothing waits for"
    AL0643 "relocation that the loader refuses"
    AL0644 "transfer outside its buffer"
    AL0645 "configuration that nothing loads"
    AL0646 "unknown operation in control code"
    AL0647 "relocations contradict the control code"
    AL0648 "identity note does not fit the contents"
    AL0649 "relocation against nothing"

    // AL07: emit and run.
    AL0701 "host target cannot run this yet"
    AL0702 "no kernel for an extern"
    AL0703 "several reference kernels have this name"
    AL0704 "unknown reference kernel"
    AL0705 "scalar argument on the host"
    AL0706 "results differ"
    AL0707 "memory fault in a host ELF"
    AL0708 "object of another machine passed over"
    AL0709 "object of another machine"
    AL0710 "not a host ELF of airlink"
    AL0711 "input array does not fit its argument"
    AL0712 "result never written"
    AL0713 "pointer offset that the NPU drops"
    AL0714 "this machine's CPU is below the ELF's level"
    AL0715 "not a kernel object"
    AL0716 "write past an L1 or L2 buffer"
    AL0717 "a launch cannot go on"
    AL0718 "elements left in a stream"
    AL0719 "copy of unequal element counts"
    AL0720 "ends of a channel with unequal elements"
    AL0721 "streams and buffers above the memory limit"
    AL0722 "channel index out of range"
    AL0723 "transfer outside of its buffer"
    AL0724 "one stream, several users in no order"
    AL0725 "tiles race for memory"
    AL0729 "packets for several destinations in one transfer"

    // AL073: NPU ELFs, read and linked.
    AL0730 "not an NPU ELF that can be read"
    AL0731 "no compiled kernel for a launch"
    AL0732 "not a PDI that can be read"
    AL0733 "compiled kernels for different devices"
    AL0734 "kernel that does not begin with a reset"
    AL0735 "kernel and graph differ in arguments"
    AL0736 "preemption code differs"
    AL0737 "scratchpads cannot be shared"
    AL0738 "offset that a relocation cannot hold"
    AL0739 "compiled kernel that cannot be linked"
    AL0740 "fused ELF differs from its kernels"
    AL0741 "results beyond what another order of additions explains"
    AL0742 "launches that cannot be compared"

    // AL08: the machine.
    AL0801 "file cannot be read"
    AL0802 "file cannot be written"
    AL0803 "tool missing"
    AL0804 "tool failed"
    AL0806 "output over an input"
    AL0807 "library folder that is none"

    // AL09: airlink itself.
    AL0901 "internal error"
    AL0902 "leftover that the emitter refuses"
}

impl Code {
    /// `AL0301`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// One line.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The page that `airlink explain` prints, as Markdown.
    pub fn page(self) -> &'static str {
        self.0.page
    }

    /// Looks a code up, in any case, by its whole name or by its number.
    pub fn find(name: &str) -> Option<Code> {
        let digits = name.get(..2).filter(|p| p.eq_ignore_ascii_case("AL")).map_or(name, |_| &name[2..]);
        let number = digits.parse::<u16>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
        ALL.iter().copied().find(|c| c.name()[2..].parse() == Ok(number))
    }

    /// The part of the pipe: `1` for AL01, ..., `9` for AL09.
    pub fn stage(self) -> u8 {
        self.name().as_bytes()[3] - b'0'
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
