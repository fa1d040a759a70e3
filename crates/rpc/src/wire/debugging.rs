//! What a debugger asks of a step.

use std::sync::Arc;

use tensorfleet_cluster::Watches;
use tensorfleet_planner::Watch;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Result, unimplemented_error};

/// Reads what is watched, if anything is.
pub(crate) fn watches(options: &pb::DebugOptions) -> Result<Option<Arc<Watches>>> {
    if options.debug_tensor_watch_opts.is_empty() {
        return Ok(None);
    }
    let tensors = options.debug_tensor_watch_opts.iter().map(watch).collect::<Result<_>>()?;
    Ok(Some(Arc::new(Watches { tensors, global_step: options.global_step })))
}

/// Writes what is watched.
pub(crate) fn debug_options(watches: &Watches) -> pb::DebugOptions {
    let watch = |watch: &Watch| pb::DebugTensorWatch {
        node_name: watch.node.clone(),
        output_slot: i32::try_from(watch.slot).unwrap_or(-1),
        debug_ops: watch.ops.clone(),
        debug_urls: watch.urls.clone(),
        tolerate_debug_op_creation_failures: watch.tolerates_failures,
    };
    pb::DebugOptions {
        debug_tensor_watch_opts: watches.tensors.iter().map(watch).collect(),
        global_step: watches.global_step,
        ..Default::default()
    }
}

fn watch(watch: &pb::DebugTensorWatch) -> Result<Watch> {
    if let Some(url) = watch.debug_urls.iter().find(|url| !url.starts_with("file://")) {
        return Err(unimplemented_error!(
            "RunOptions.debug_options: tensors can be watched by files (file://), but not by {url}"
        ));
    }
    Ok(Watch {
        node: watch.node_name.clone(),
        // TensorFlow watches nothing either where the number is none of an output.
        slot: u32::try_from(watch.output_slot).unwrap_or(u32::MAX),
        ops: watch.debug_ops.clone(),
        urls: watch.debug_urls.clone(),
        tolerates_failures: watch.tolerate_debug_op_creation_failures,
    })
}
