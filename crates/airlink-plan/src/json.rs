//! The plan as JSON.

use airlink_diag::Findings;
use airlink_diag::render::{JsonFinding, to_json};
use airlink_graph::LaunchGraph;
use serde::Serialize;

use crate::{ArgPlan, CallPlan, ElfResources, NSplitPlan, Plan, Rename, RowSplitPlan, SplitPlan};

/// What `airlink plan --format json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct PlanJson<'p> {
    pub schema: u32,
    pub graph: &'p str,
    pub device: Option<&'p str>,
    pub elfs: Vec<ElfJson<'p>>,
    /// Steps that run earlier than the file says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<MoveJson<'p>>,
    pub renames: Vec<&'p Rename>,
    pub splits: Vec<&'p SplitPlan>,
    /// Launches that are spread over more columns.
    pub n_splits: Vec<&'p NSplitPlan>,
    /// Launches that are cut into several.
    pub row_splits: Vec<&'p RowSplitPlan>,
    pub findings: Vec<JsonFinding>,
}

/// One ELF of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct ElfJson<'p> {
    pub name: &'p str,
    /// Names, in program order.
    pub launches: Vec<&'p str>,
    pub args: Vec<ArgJson<'p>>,
    /// Per call the buffers passed, by name; left out where there is one call, with the arguments as they are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Vec<&'p str>>,
    pub cut_reason: String,
    /// Null where no device is named.
    pub resources: Option<&'p ElfResources>,
}

/// A step that runs earlier than the file says.
#[derive(Clone, Debug, Serialize)]
pub struct MoveJson<'p> {
    pub step: &'p str,
    pub before: &'p str,
}

/// One argument of a fused function.
#[derive(Clone, Debug, Serialize)]
pub struct ArgJson<'p> {
    pub index: usize,
    pub name: &'p str,
    #[serde(rename = "type")]
    pub ty: String,
    pub role: &'static str,
    /// Where it differs from the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataflow: Option<&'static str>,
    /// The type that the graph declares, where a partition needed more rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padded_from: Option<String>,
}

/// The plan and the findings, which come in file order.
pub fn plan_json<'p>(plan: &'p Plan, graph: &'p LaunchGraph, findings: &Findings) -> PlanJson<'p> {
    let names = |call: &CallPlan| call.args.iter().map(|b| graph.buffer(*b).name.as_str()).collect();
    let elf = |e: &'p crate::ElfPlan| ElfJson {
        name: &e.name,
        launches: e.launches.iter().map(|l| l.name.as_str()).collect(),
        args: e.args.iter().map(ArgJson::new).collect(),
        calls: e.calls.iter().filter(|_| e.calls.len() > 1).map(names).collect(),
        cut_reason: e.cut.to_string(),
        resources: e.resources.as_ref(),
    };
    PlanJson {
        schema: plan.schema,
        graph: &plan.graph,
        device: plan.device.as_deref(),
        elfs: plan.elfs.iter().map(elf).collect(),
        moves: plan.moves.iter().map(|m| MoveJson { step: &m.step, before: &m.before }).collect(),
        renames: plan.elfs.iter().flat_map(|e| &e.renames).collect(),
        splits: plan.elfs.iter().flat_map(|e| &e.splits).collect(),
        n_splits: plan.elfs.iter().flat_map(|e| &e.n_splits).collect(),
        row_splits: plan.elfs.iter().flat_map(|e| &e.row_splits).collect(),
        findings: findings.in_file_order().into_iter().map(|f| to_json(f, &findings.sources)).collect(),
    }
}

impl<'p> ArgJson<'p> {
    fn new(arg: &'p ArgPlan) -> ArgJson<'p> {
        ArgJson {
            index: arg.index,
            name: &arg.name,
            ty: arg.ty.to_string(),
            role: arg.role.as_str(),
            dataflow: arg.dataflow_if_other(),
            padded_from: arg.padded_from.as_ref().map(|t| t.to_string()),
        }
    }
}
