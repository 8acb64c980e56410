//! Rules S1 to S10.

use crate::device::{Device, Limit};
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::pattern::Pattern;

/// Widths that the tools move, in bits.
const ELEMENT_BITS: [u64; 3] = [8, 16, 32];

/// Dimensions of a shim BD, the iteration counted.
const RANK: usize = 4;

/// Judges one shim BD: `pattern` of up to four dimensions, the iteration first; `offset` in elements, `None` if unknown.
pub fn check_shim_bd(pattern: &Pattern, element_bits: u64, offset: Option<i64>, device: &Device) -> Vec<Fault> {
    let mut faults = Vec::new();
    faults.extend(check_element_width(element_bits));
    let rank = device.shim.nd_dims.value as i128 + 1;
    let unit = Unit("dimensions", device.shim.nd_dims.source);
    let found = pattern.rank() as i128;
    faults.extend(Fault::unless(Rule::B3, "rank of a shim BD with its iteration", found, Bound::AtMost(rank), unit));
    let padded = pattern.padded(RANK);
    let is_linear = Pattern::new(&padded.sizes[1..], &padded.strides[1..]).is_contiguous();
    for (i, (size, stride)) in padded.dims().enumerate() {
        let dim = padded.rank() - 1 - i;
        let mut of_dim = Vec::new();
        check_size(dim, size, element_bits, is_linear, device, &mut of_dim);
        check_stride(dim, size, stride, element_bits, device, &mut of_dim);
        faults.extend(of_dim.into_iter().map(|f| f.at(dim)));
    }
    let bits = i128::from(offset.unwrap_or(0)).saturating_mul(element_bits.into());
    faults.extend(whole_words(Rule::S9, "offset of a shim BD", bits, Limit::new(0, "AIEXDialect.cpp:653"), device));
    faults.extend(check_linear_length(&padded, element_bits, device));
    faults
}

/// Whether the tools move elements of this width at all.
pub fn check_element_width(element_bits: u64) -> Option<Fault> {
    let is_known = ELEMENT_BITS.contains(&element_bits);
    let unit = Unit("bits", "AIRRtToNpuPass.cpp:565-567");
    let text = format!("elements of {element_bits} bits: host memory is moved in elements of 8, 16 or 32 bits");
    let fault = || Fault::new(Rule::ElementWidth, "element", element_bits.into(), Bound::AtMost(32), unit).saying(text);
    (!is_known).then(fault)
}

/// S10: whether the length of a BD, in elements, is what its three inner sizes say.
pub fn check_length(pattern: &Pattern, length_elements: u64) -> Option<Fault> {
    let inner = pattern.padded(RANK);
    let product = inner.sizes[1..].iter().fold(1i128, |n, s| n.saturating_mul((*s).into()));
    let unit = Unit("elements", "AIEDMATasksToNPU.cpp:868-890");
    Fault::unless(Rule::S10, "length of a shim BD", length_elements.into(), Bound::Exactly(product), unit)
}

fn check_linear_length(pattern: &Pattern, element_bits: u64, device: &Device) -> Option<Fault> {
    let elements = pattern.sizes[1..].iter().fold(1i128, |n, s| n.saturating_mul((*s).into()));
    let words = elements.saturating_mul(element_bits.into()) / granule_bits(device);
    Fault::above(Rule::S10, "length of a shim BD", words, device.shim.length_words_max, "32-bit words")
}

fn check_size(dim: usize, size: u64, element_bits: u64, is_linear: bool, device: &Device, faults: &mut Vec<Fault>) {
    let unit = Unit("elements", "AIEXDialect.cpp:163");
    let name = format!("size of dimension {dim} of a shim BD");
    faults.extend(Fault::unless(Rule::S1, &name, size.into(), Bound::AtLeast(1), unit));
    let wrap = Limit { value: device.shim.wrap_words_max(), ..device.shim.wrap_bits };
    let bits = i128::from(size).saturating_mul(element_bits.into());
    match dim {
        0 => {
            faults.extend(whole_words(Rule::S2, &name, bits, Limit::new(0, "AIEXDialect.cpp:169"), device));
            let words = bits / granule_bits(device);
            faults.extend(Fault::above(Rule::S5, &name, words, wrap, "32-bit words").filter(|_| !is_linear));
        }
        1 => faults.extend(Fault::above(Rule::S5, &name, size, wrap, "steps").filter(|_| !is_linear)),
        3 => {
            faults.extend(Fault::above(Rule::S7, &name, size, device.shim.iteration_max, "iterations"));
        }
        _ => {}
    }
}

fn check_stride(dim: usize, size: u64, stride: i64, element_bits: u64, device: &Device, faults: &mut Vec<Fault>) {
    let name = format!("stride of dimension {dim} of a shim BD");
    let source = "AIEXDialect.cpp:179-192";
    let least = if dim == 3 || size <= 1 { 0 } else { 1 };
    faults.extend(Fault::unless(Rule::S3, &name, stride.into(), Bound::AtLeast(least), Unit("elements", source)));
    if dim == 0 && stride == 1 {
        return;
    }
    if dim == 0 && size > 1 && i128::from(element_bits) < granule_bits(device) {
        // Whole words move: the elements between would come along, whatever the stride is a multiple of.
        let unit = Unit("elements", "limits 1.2; AIEXDialect.cpp:194-208");
        faults.push(Fault::new(Rule::S4, &name, stride.into(), Bound::Exactly(1), unit));
        return;
    }
    let bits = i128::from(stride).saturating_mul(element_bits.into());
    faults.extend(whole_words(Rule::S4, &name, bits, Limit::new(0, "AIEXDialect.cpp:194-208"), device));
    if dim == 3 && size <= 1 {
        return;
    }
    let words = bits / granule_bits(device);
    let step = Limit { value: device.shim.step_words_max(), ..device.shim.step_bits };
    let fault = Fault::above(Rule::S8, &name, words, step, "32-bit words");
    let elements_max = i128::from(step.value) * granule_bits(device) / i128::from(element_bits.max(1));
    let text = format!(
        "{name}: {words} 32-bit words ({stride} elements), allowed at most {} words ({elements_max} elements)",
        step.value
    );
    faults.extend(fault.map(|f| f.saying(text)));
}

pub(super) fn granule_bits(device: &Device) -> i128 {
    i128::from(device.address_granule_bits.value.max(1))
}

/// A fault unless that many bits are whole address granules.
pub(super) fn whole_words(rule: Rule, name: &str, bits: i128, at: Limit, device: &Device) -> Option<Fault> {
    Fault::unless(rule, name, bits, Bound::MultipleOf(granule_bits(device)), Unit("bits", at.source))
}
