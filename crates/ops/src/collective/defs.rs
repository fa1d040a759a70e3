//! The collectives that are named by keys.

use tensorfleet_framework::{KernelDef, Op, cpu_async};

use super::keyed::Keyed;

const KERNELS: &[KernelDef] = &[cpu_async::<Keyed>()];
const T_REDUCED: &str = "T: {bfloat16, float, half, double, int32, int64}";
const T_GATHERED: &str = "T: {float, half, double, int32, int64}";
const T_BROADCAST: &str = "T: {bool, float, half, double, int32, int64}";
const MERGE: &str = "merge_op: {'Min', 'Max', 'Mul', 'Add'}";
const FINAL: &str = "final_op: {'Id', 'Div'}";
const HINT: &str = "communication_hint: string = 'auto'";
const TIMEOUT: &str = "timeout_seconds: float = 0.0";
const STATELESS: &str = "is_stateless: bool = false";
const TOKENS: &str = "Nordering_token: int >= 0 = 0";
const SUBDIVISIONS: &str = "max_subdivs_per_device: int = -1";

const fn collective(
    name: &'static str,
    inputs: &'static [&'static str],
    attrs: &'static [&'static str],
) -> Op {
    Op {
        name,
        inputs,
        outputs: &["data: T"],
        attrs,
        stateful: true,
        distributed_communication: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

const ORDERED: &[&str] = &[
    "input: T",
    "group_size: int32",
    "group_key: int32",
    "instance_key: int32",
    "ordering_token: Nordering_token * resource",
];
const BROADCAST: &[&str] = &[
    T_BROADCAST,
    "group_size: int",
    "group_key: int",
    "instance_key: int",
    "shape: shape",
    HINT,
    TIMEOUT,
];

pub(super) const OPS: &[Op] = &[
    collective("CollectiveAllToAllV2", ORDERED, &[T_REDUCED, HINT, TIMEOUT, STATELESS, TOKENS]),
    collective("CollectiveBcastRecv", &[], BROADCAST),
    collective(
        "CollectiveBcastRecvV2",
        &["group_size: int32", "group_key: int32", "instance_key: int32", "shape: Tshape"],
        &[T_BROADCAST, "Tshape: {int32, int64} = DT_INT32", HINT, TIMEOUT],
    ),
    collective("CollectiveBcastSend", &["input: T"], BROADCAST),
    collective(
        "CollectiveBcastSendV2",
        &["input: T", "group_size: int32", "group_key: int32", "instance_key: int32"],
        &[T_BROADCAST, HINT, TIMEOUT],
    ),
    collective(
        "CollectiveGather",
        &["input: T"],
        &[
            T_GATHERED,
            "group_size: int",
            "group_key: int",
            "instance_key: int",
            "shape: shape",
            HINT,
            TIMEOUT,
        ],
    ),
    collective("CollectiveGatherV2", ORDERED, &[T_GATHERED, HINT, TIMEOUT, STATELESS, TOKENS]),
    collective(
        "CollectiveReduce",
        &["input: T"],
        &[
            T_REDUCED,
            "group_size: int",
            "group_key: int",
            "instance_key: int",
            MERGE,
            FINAL,
            "subdiv_offsets: list(int)",
            "wait_for: list(int) = []",
            HINT,
            TIMEOUT,
        ],
    ),
    collective(
        "CollectiveReduceScatterV2",
        ORDERED,
        &[T_REDUCED, MERGE, FINAL, HINT, TIMEOUT, STATELESS, TOKENS, SUBDIVISIONS],
    ),
    collective(
        "CollectiveReduceV2",
        ORDERED,
        &[T_REDUCED, MERGE, FINAL, HINT, TIMEOUT, STATELESS, TOKENS, SUBDIVISIONS],
    ),
];
