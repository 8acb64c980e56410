//! The launch graph as a drawing: launches below one another in program order, what comes from outside on their left,
//! what they hand on in lanes on their right.

mod lanes;

use airlink_graph::{LaunchGraph, Role, Step};

use self::lanes::Lanes;
use super::count;
use super::flow::{Edge, Flow, Part, Row, Slot};
use super::markup::{Attribute, Markup};
use crate::plan::bytes;
use crate::{ElfPlan, Plan};

/// A program of more rows is not drawn: nobody reads it, and the tables have it all.
pub(crate) const DRAWN_ROWS_MAX: usize = 400;

/// Lengths in pixels. Text is monospaced, so that it can be cut to its place without a browser at hand.
const MARGIN: u32 = 10;
const LEFT_MAX: u32 = 210;
const BOX_MIN: u32 = 130;
const BOX_MAX: u32 = 230;
const LABELS_MIN: u32 = 100;
const LABELS_MAX: u32 = 190;
const LANE: u32 = 12;
const SLOT: u32 = 20;
/// Two lines of text with air around them.
const ROW_MIN: u32 = 42;
const GAP: u32 = 10;
const TITLE: u32 = 30;
const LINE: u32 = 16;
/// Width of a character of the labels at 11 px: 0.602 em in the fonts that systems have.
const CHAR_TENTHS: u32 = 67;

/// Where a row stands.
struct Place {
    top: u32,
    height: u32,
}

/// Where things stand from left to right: as narrow as the names allow, for the sake of small screens.
#[derive(Clone, Copy)]
struct Columns {
    box_x: u32,
    box_end: u32,
    lanes_x: u32,
}

impl Columns {
    fn of(graph: &LaunchGraph, flow: &Flow<'_>) -> Columns {
        let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0).min(100) as u32;
        let label = |s: &Slot<'_>| labelled(s, 100).chars().count();
        let left = widest(&mut flow.rows.iter().flat_map(left).map(label)) * CHAR_TENTHS / 10 + 4;
        let names = flow.rows.iter().enumerate().map(|(i, row)| {
            let [name, detail] = labels(graph, flow, i, row).map(|t| t.chars().count());
            (name * 79 / 10).max(detail * CHAR_TENTHS as usize / 10)
        });
        let boxes = names.max().unwrap_or(0).min(BOX_MAX as usize) as u32 + 20;
        let labels = widest(&mut flow.rows.iter().flat_map(right).map(|(s, _)| label(s))) * CHAR_TENTHS / 10 + 26;
        let box_x = MARGIN + left.min(LEFT_MAX) + 20;
        let box_end = box_x + boxes.clamp(BOX_MIN, BOX_MAX);
        Columns { box_x, box_end, lanes_x: box_end + labels.clamp(LABELS_MIN, LABELS_MAX) }
    }
}

struct Drawing<'p> {
    plan: &'p Plan,
    graph: &'p LaunchGraph,
    flow: &'p Flow<'p>,
    at: Columns,
    places: Vec<Place>,
    lanes: Lanes,
    width: u32,
    height: u32,
}

/// Adds the drawing, or a word where there is too much to draw.
pub(crate) fn diagram(out: &mut Markup, plan: &Plan, graph: &LaunchGraph) {
    let flow = Flow::of(plan, graph);
    if flow.rows.len() > DRAWN_ROWS_MAX {
        let text = format!("{} steps are too many to draw; the tables below have them.", flow.rows.len());
        out.leaf("p", &[("class", "none")], &text);
        return;
    }
    let at = Columns::of(graph, &flow);
    let room = cut_room(at);
    let (places, height) = places(plan, &flow, room);
    let port = |(row, slot): (usize, usize), is_read: bool| slot_y(&flow.rows[row], &places[row], slot, is_read);
    let lanes = Lanes::of(&flow.edges, |p| port(p, false), |p| port(p, true));
    let width = at.lanes_x + LANE * (lanes.count + 1) + MARGIN;
    let drawing = Drawing { plan, graph, flow: &flow, at, places, lanes, width, height };
    legend(out, &flow);
    drawing.draw(out);
}

/// The places of all rows, and the height of the whole.
fn places(plan: &Plan, flow: &Flow<'_>, room: usize) -> (Vec<Place>, u32) {
    let mut places = Vec::with_capacity(flow.rows.len());
    let mut y = MARGIN;
    for part in &flow.parts {
        let rows = match part {
            Part::Elf { rows, .. } => {
                y += TITLE;
                rows.clone()
            }
            Part::Host { row, .. } => *row..*row + 1,
        };
        for row in &flow.rows[rows] {
            let height = ROW_MIN.max(SLOT * left(row).count().max(right(row).count()) as u32 + 8);
            places.push(Place { top: y, height });
            y += height + GAP;
        }
        if let Part::Elf { elf, .. } = part {
            y += LINE * cut_lines(&plan.elfs[*elf], room).len() as u32 + GAP;
        }
        y += GAP;
    }
    (places, y)
}

/// The reads that come from outside of what is drawn.
fn left<'r, 'p>(row: &'r Row<'p>) -> impl Iterator<Item = &'r Slot<'p>> {
    row.reads.iter().filter(|s| !s.is_linked)
}

/// What stands on the right: reads of what earlier rows or calls give, then writes.
fn right<'r, 'p>(row: &'r Row<'p>) -> impl Iterator<Item = (&'r Slot<'p>, bool)> {
    let writes = row.writes.iter().map(|s| (s, false));
    row.reads.iter().map(|s| (s, true)).filter(|(s, _)| s.is_linked || s.is_fed_by_calls).chain(writes)
}

/// Height at which a slot's line meets the right edge of its row's box.
fn slot_y(row: &Row<'_>, place: &Place, slot: usize, is_read: bool) -> u32 {
    let shown = |s: &&Slot<'_>| s.is_linked || s.is_fed_by_calls;
    let index = match is_read {
        true => row.reads.iter().take(slot).filter(shown).count(),
        false => row.reads.iter().filter(shown).count() + slot,
    };
    line_y(place, index, right(row).count())
}

/// Height of one of `count` lines, which stand in the middle of a row.
fn line_y(place: &Place, index: usize, count: usize) -> u32 {
    let free = place.height.saturating_sub(SLOT * count as u32);
    place.top + free / 2 + SLOT * index as u32 + 15
}

impl Drawing<'_> {
    fn draw(&self, out: &mut Markup) {
        let (width, height) = (self.width.to_string(), self.height.to_string());
        let view = format!("0 0 {width} {height}");
        // Paper takes a drawing of up to a page as a whole.
        let class = if self.height > 1800 { "flow tall" } else { "flow" };
        let region = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Launch graph")];
        out.element("div", &region, |out| {
            let attributes = [
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("class", class),
                ("viewBox", &view),
                ("width", &width),
                ("height", &height),
                ("role", "img"),
                ("aria-labelledby", "flow-title flow-text"),
            ];
            out.element("svg", &attributes, |out| {
                out.leaf("title", &[("id", "flow-title")], &format!("Launch graph of {}", self.plan.graph));
                out.leaf("desc", &[("id", "flow-text")], &self.in_words());
                for part in &self.flow.parts {
                    self.part(out, part);
                }
                for net in &self.lanes.nets {
                    self.net(out, net);
                }
                for index in 0..self.flow.rows.len() {
                    self.row(out, index);
                }
            });
        });
    }

    /// The drawing for those who do not see it.
    fn in_words(&self) -> String {
        let part = |part: &Part| match part {
            Part::Elf { elf, rows } => {
                let names: Vec<&str> = self.flow.rows[rows.clone()].iter().map(|r| r.name).collect();
                let elf = &self.plan.elfs[*elf];
                let calls =
                    if elf.calls.len() > 1 { format!(", called {} times", elf.calls.len()) } else { String::new() };
                format!("ELF {}{calls}: {}", elf.name, names.join(", "))
            }
            Part::Host { row, .. } => format!("host step {}", self.flow.rows[*row].name),
        };
        self.flow.parts.iter().map(part).collect::<Vec<_>>().join("; then ") + "."
    }

    /// The frame of an ELF with its name and why it ends, or how many steps a host step stands for.
    fn part(&self, out: &mut Markup, part: &Part) {
        let (elf, rows) = match part {
            Part::Elf { elf, rows } => (&self.plan.elfs[*elf], rows),
            Part::Host { .. } => return,
        };
        let (Some(first), Some(last)) = (self.places.get(rows.start), self.places.get(rows.end.wrapping_sub(1))) else {
            return;
        };
        let (x, top, end) = (self.at.box_x - 12, first.top - TITLE, last.top + last.height + GAP);
        rectangle(out, "frame", [x, top, self.width - MARGIN - x, end - top]);
        let mut title = format!("{} · {}", elf.name, count(elf.launches.len(), "launch", "es"));
        if elf.calls.len() > 1 {
            title += &format!(" · ×{} calls", elf.calls.len());
        }
        let room = (self.width - MARGIN - x - 16) * 10 / 80;
        text(out, "elf", x + 10, top + 20, &shortened(&title, room as usize));
        for (i, line) in cut_lines(elf, cut_room(self.at)).iter().enumerate() {
            text(out, "cut", x + 2, end + LINE * (i as u32 + 1), line);
        }
    }

    fn row(&self, out: &mut Markup, index: usize) {
        let (row, place) = (&self.flow.rows[index], &self.places[index]);
        let class = if row.elf.is_some() { "launch" } else { "host" };
        out.element("g", &[("class", class)], |out| {
            rectangle(out, "box", [self.at.box_x, place.top, self.at.box_end - self.at.box_x, place.height]);
            let [name, detail] = labels(self.graph, self.flow, index, row);
            let middle = place.top + place.height / 2;
            let room = (self.at.box_end - self.at.box_x - 16) as usize;
            text(out, "name", self.at.box_x + 8, middle - 4, &shortened(&name, room * 10 / 79));
            text(out, "kernel", self.at.box_x + 8, middle + 12, &shortened(&detail, room * 10 / CHAR_TENTHS as usize));
        });
        let count = left(row).count();
        for (i, slot) in left(row).enumerate() {
            self.outside_in(out, slot, line_y(place, i, count));
        }
        let count = right(row).count();
        for (i, (slot, is_read)) in right(row).enumerate() {
            self.label(out, slot, is_read, line_y(place, i, count));
        }
    }

    /// What the host gives, with an arrow into the box.
    fn outside_in(&self, out: &mut Markup, slot: &Slot<'_>, y: u32) {
        let class = class_of(slot.role);
        out.element("g", &[("class", class)], |out| {
            let label = labelled(slot, (self.at.box_x - MARGIN - 20) * 10 / CHAR_TENTHS);
            let end = self.at.box_x - 20;
            let start = end.saturating_sub(label.chars().count() as u32 * CHAR_TENTHS / 10).max(MARGIN);
            path(out, "line", &format!("M{start} {y}H{}", self.at.box_x - 6));
            head(out, self.at.box_x, y, true);
            let at = end.to_string();
            let attributes = [("class", "slot end"), ("x", at.as_str()), ("y", &(y - 5).to_string())];
            out.element("text", &attributes, |out| {
                out.leaf("title", &[], &described(slot)).text(&label);
            });
        });
    }

    /// The name of what a row gets from earlier ones or hands on; what nobody here takes leaves with an arrow.
    fn label(&self, out: &mut Markup, slot: &Slot<'_>, is_read: bool, y: u32) {
        let class = class_of(slot.role);
        out.element("g", &[("class", class)], |out| {
            if !is_read && !slot.is_linked {
                path(out, "line", &format!("M{} {y}H{}", self.at.box_end, self.at.lanes_x - 8));
                head(out, self.at.lanes_x - 2, y, true);
            }
            let room = (self.at.lanes_x - self.at.box_end - 22) * 10 / CHAR_TENTHS;
            let label = match is_read {
                true if slot.is_linked => shortened(slot.name, room as usize),
                true => format!("↻ {}", shortened(slot.name, room as usize - 2)),
                false => labelled(slot, room),
            };
            let class = if is_read { "slot" } else { "slot written" };
            let attributes =
                [("class", class), ("x", &(self.at.box_end + 12).to_string()), ("y", &(y - 5).to_string())];
            out.element("text", &attributes, |out| {
                out.leaf("title", &[], &described(slot)).text(&label);
            });
        });
    }

    /// One lane: from a write to everything that reads it.
    fn net(&self, out: &mut Markup, net: &lanes::Net) {
        let Some(first) = net.edges.first().map(|e| &self.flow.edges[*e]) else { return };
        let class = format!("{}{}", class_of(Some(self.flow.role(first))), if net.is_back { " back" } else { "" });
        out.element("g", &[("class", &class)], |out| {
            let y = |edge: &Edge| {
                let (row, slot) = edge.to;
                slot_y(&self.flow.rows[row], &self.places[row], slot, true)
            };
            let ends: Vec<u32> = net.edges.iter().map(|e| y(&self.flow.edges[*e])).collect();
            let Some(lane) = net.lane else { return };
            let x = self.at.lanes_x + LANE * lane + LANE / 2;
            let (low, high) = ends.iter().fold((net.start, net.start), |(l, h), e| (l.min(*e), h.max(*e)));
            path(out, "line", &format!("M{} {}H{x}M{x} {low}V{high}", self.at.box_end, net.start));
            for end in ends {
                path(out, "line", &format!("M{x} {end}H{}", self.at.box_end + 6));
                head(out, self.at.box_end, end, false);
            }
        });
    }
}

/// Characters of a line below a frame.
fn cut_room(at: Columns) -> usize {
    ((at.lanes_x - at.box_x) * 10 / CHAR_TENTHS).max(34) as usize
}

/// Why an ELF ends, in lines that fit below its frame.
fn cut_lines(elf: &ElfPlan, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in format!("ends here: {}", elf.cut).replace('`', "").split_whitespace() {
        let used = lines.last().map_or(0, |l| l.chars().count());
        if used > 0 && used + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            let blank = if line.is_empty() { "" } else { " " };
            *line += &format!("{blank}{}", shortened(word, room));
        }
    }
    lines
}

/// The two lines in a row's box.
fn labels(graph: &LaunchGraph, flow: &Flow<'_>, index: usize, row: &Row<'_>) -> [String; 2] {
    let detail = match row.step {
        Step::Launch(launch) => kernel_label(&graph.launch(launch).kernel.value),
        Step::Host(_) => {
            let times = flow.parts.iter().find_map(|p| match p {
                Part::Host { row, count } if *row == index && *count > 1 => Some(format!("on the host, ×{count}")),
                _ => None,
            });
            times.unwrap_or_else(|| "on the host".to_string())
        }
    };
    [row.name.to_string(), detail]
}

/// The name of a kernel's file; one that says little, as `256`, with its folder.
fn kernel_label(kernel: &str) -> String {
    let stem = crate::render::kernel_stem(kernel);
    let folder = kernel.rsplit('/').nth(1).filter(|f| !f.is_empty() && *f != ".." && *f != ".");
    match folder.filter(|_| stem.chars().count() < 12) {
        Some(folder) => format!("{folder}/{stem}"),
        None => stem.to_string(),
    }
}

fn legend(out: &mut Markup, flow: &Flow<'_>) {
    let slots = || flow.rows.iter().flat_map(|r| r.reads.iter().chain(&r.writes));
    let roles = Role::ALL.iter().filter(|(_, role)| slots().any(|s| s.role == Some(*role)));
    out.element("ul", &[("class", "legend"), ("aria-label", "Colours by role")], |out| {
        for (name, role) in roles {
            out.element("li", &[("class", class_of(Some(*role)))], |out| {
                out.leaf("span", &[("class", "swatch"), ("aria-hidden", "true")], "").text(" ").text(name);
            });
        }
        if flow.edges.iter().any(Edge::is_back) {
            out.leaf("li", &[], "↻ from the call before");
        }
        out.leaf("li", &[], "left: from the host");
        out.leaf("li", &[], "right: between steps");
    });
}

fn class_of(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Input) => "input",
        Some(Role::Output) => "output",
        Some(Role::Static) => "static",
        Some(Role::Intermediate) => "intermediate",
        Some(Role::Inout) => "inout",
        Some(Role::Dead) => "dead",
        None => "hosted",
    }
}

/// `wq 8.0 MiB`, cut to `room` characters; the name gives way first.
fn labelled(slot: &Slot<'_>, room: u32) -> String {
    let size = slot.size_bytes.map_or(String::new(), |b| format!(" {}", bytes(b)));
    shortened(slot.name, (room as usize).saturating_sub(size.chars().count())) + &size
}

/// `wq: static, 8.0 MiB`.
fn described(slot: &Slot<'_>) -> String {
    let role = slot.role.map_or("on the host", Role::as_str);
    format!("{}: {role}{}", slot.name, slot.size_bytes.map_or(String::new(), |b| format!(", {}", bytes(b))))
}

/// At most `room` characters.
fn shortened(text: &str, room: usize) -> String {
    match text.chars().count() > room {
        true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

fn rectangle(out: &mut Markup, class: &'static str, [x, y, width, height]: [u32; 4]) {
    let [x, y, width, height] = [x, y, width, height].map(|n| n.to_string());
    let place: [Attribute<'_>; 6] =
        [("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height), ("rx", "4")];
    out.void("rect", &place);
}

fn text(out: &mut Markup, class: &'static str, x: u32, y: u32, text: &str) {
    out.leaf("text", &[("class", class), ("x", &x.to_string()), ("y", &y.to_string())], text);
}

fn path(out: &mut Markup, class: &'static str, d: &str) {
    out.void("path", &[("class", class), ("d", d)]);
}

/// The head of an arrow whose tip is at `x`.
fn head(out: &mut Markup, x: u32, y: u32, to_right: bool) {
    let back = if to_right { -7 } else { 7 };
    path(out, "head", &format!("M{x} {y}l{back} -4v8z"));
}
