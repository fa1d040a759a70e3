//! Ops of the family `list`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// A tensor of several parts as one variant.
///
/// Op `CompositeTensorVariantFromComponents`. Output: `encoded: variant`.
#[track_caller]
pub fn composite_tensor_variant_from_components(
    graph: &Graph,
    components: impl IntoIterator<Item = impl Operand>,
    metadata: &str,
) -> OpBuilder {
    graph.op("CompositeTensorVariantFromComponents").inputs(components).attr("metadata", metadata)
}

/// The parts of a tensor in a variant.
///
/// Op `CompositeTensorVariantToComponents`. Output: `components` (a list).
#[track_caller]
pub fn composite_tensor_variant_to_components(
    graph: &Graph,
    encoded: impl Operand,
    metadata: &str,
    tcomponents: &[DType],
) -> OpBuilder {
    graph
        .op("CompositeTensorVariantToComponents")
        .input(encoded)
        .attr("metadata", metadata)
        .attr("Tcomponents", tcomponents.to_vec())
}

/// A list without elements.
///
/// Op `EmptyTensorList`. Output: `handle: variant`.
#[track_caller]
pub fn empty_tensor_list(
    graph: &Graph,
    element_shape: impl Operand,
    max_num_elements: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("EmptyTensorList")
        .input(element_shape)
        .input(max_num_elements)
        .attr("element_dtype", element_dtype)
}

/// A map without entries.
///
/// Op `EmptyTensorMap`. Output: `handle: variant`.
#[track_caller]
pub fn empty_tensor_map(graph: &Graph) -> OpBuilder {
    graph.op("EmptyTensorMap")
}

/// The elements of a list joined along their first axis.
///
/// Op `TensorListConcat`. Outputs: `tensor`, `lengths: int64`.
///
/// Attributes with defaults: `element_shape: shape = <unknown>`.
#[track_caller]
pub fn tensor_list_concat(
    graph: &Graph,
    input_handle: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph.op("TensorListConcat").input(input_handle).attr("element_dtype", element_dtype)
}

/// Two lists one after the other.
///
/// Op `TensorListConcatLists`. Output: `output: variant`.
#[track_caller]
pub fn tensor_list_concat_lists(
    graph: &Graph,
    input_a: impl Operand,
    input_b: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListConcatLists")
        .input(input_a)
        .input(input_b)
        .attr("element_dtype", element_dtype)
}

/// The elements of a list joined along their first axis.
///
/// Op `TensorListConcatV2`. Outputs: `tensor`, `lengths: int64`.
#[track_caller]
pub fn tensor_list_concat_v2(
    graph: &Graph,
    input_handle: impl Operand,
    element_shape: impl Operand,
    leading_dims: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListConcatV2")
        .input(input_handle)
        .input(element_shape)
        .input(leading_dims)
        .attr("element_dtype", element_dtype)
}

/// What is known of the shapes of a list's elements.
///
/// Op `TensorListElementShape`. Output: `element_shape`.
#[track_caller]
pub fn tensor_list_element_shape(
    graph: &Graph,
    input_handle: impl Operand,
    shape_type: DType,
) -> OpBuilder {
    graph.op("TensorListElementShape").input(input_handle).attr("shape_type", shape_type)
}

/// The slices of a tensor as a list.
///
/// Op `TensorListFromTensor`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_from_tensor(
    graph: &Graph,
    tensor: impl Operand,
    element_shape: impl Operand,
) -> OpBuilder {
    graph.op("TensorListFromTensor").input(tensor).input(element_shape)
}

/// Some elements of a list, stacked.
///
/// Op `TensorListGather`. Output: `values`.
#[track_caller]
pub fn tensor_list_gather(
    graph: &Graph,
    input_handle: impl Operand,
    indices: impl Operand,
    element_shape: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListGather")
        .input(input_handle)
        .input(indices)
        .input(element_shape)
        .attr("element_dtype", element_dtype)
}

/// An element of a list.
///
/// Op `TensorListGetItem`. Output: `item`.
#[track_caller]
pub fn tensor_list_get_item(
    graph: &Graph,
    input_handle: impl Operand,
    index: impl Operand,
    element_shape: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListGetItem")
        .input(input_handle)
        .input(index)
        .input(element_shape)
        .attr("element_dtype", element_dtype)
}

/// The number of elements of a list.
///
/// Op `TensorListLength`. Output: `length: int32`.
#[track_caller]
pub fn tensor_list_length(graph: &Graph, input_handle: impl Operand) -> OpBuilder {
    graph.op("TensorListLength").input(input_handle)
}

/// A list without its last element, and that.
///
/// Op `TensorListPopBack`. Outputs: `output_handle: variant`, `tensor`.
#[track_caller]
pub fn tensor_list_pop_back(
    graph: &Graph,
    input_handle: impl Operand,
    element_shape: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListPopBack")
        .input(input_handle)
        .input(element_shape)
        .attr("element_dtype", element_dtype)
}

/// A list with one more element.
///
/// Op `TensorListPushBack`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_push_back(
    graph: &Graph,
    input_handle: impl Operand,
    tensor: impl Operand,
) -> OpBuilder {
    graph.op("TensorListPushBack").input(input_handle).input(tensor)
}

/// Several lists, each with one more element.
///
/// Op `TensorListPushBackBatch`. Output: `output_handles: variant`.
#[track_caller]
pub fn tensor_list_push_back_batch(
    graph: &Graph,
    input_handles: impl Operand,
    tensor: impl Operand,
) -> OpBuilder {
    graph.op("TensorListPushBackBatch").input(input_handles).input(tensor)
}

/// A list of as many unset elements as asked for.
///
/// Op `TensorListReserve`. Output: `handle: variant`.
#[track_caller]
pub fn tensor_list_reserve(
    graph: &Graph,
    element_shape: impl Operand,
    num_elements: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListReserve")
        .input(element_shape)
        .input(num_elements)
        .attr("element_dtype", element_dtype)
}

/// A list made shorter or longer.
///
/// Op `TensorListResize`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_resize(
    graph: &Graph,
    input_handle: impl Operand,
    size: impl Operand,
) -> OpBuilder {
    graph.op("TensorListResize").input(input_handle).input(size)
}

/// A list with slices of a tensor at some places.
///
/// Op `TensorListScatter`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_scatter(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    element_shape: impl Operand,
) -> OpBuilder {
    graph.op("TensorListScatter").input(tensor).input(indices).input(element_shape)
}

/// A list with some elements replaced by slices of a tensor.
///
/// Op `TensorListScatterIntoExistingList`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_scatter_into_existing_list(
    graph: &Graph,
    input_handle: impl Operand,
    tensor: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph.op("TensorListScatterIntoExistingList").input(input_handle).input(tensor).input(indices)
}

/// A list with slices of a tensor at some places.
///
/// Op `TensorListScatterV2`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_scatter_v2(
    graph: &Graph,
    tensor: impl Operand,
    indices: impl Operand,
    element_shape: impl Operand,
    num_elements: impl Operand,
) -> OpBuilder {
    graph
        .op("TensorListScatterV2")
        .input(tensor)
        .input(indices)
        .input(element_shape)
        .input(num_elements)
}

/// A list with one element replaced.
///
/// Op `TensorListSetItem`. Output: `output_handle: variant`.
///
/// Attributes with defaults: `resize_if_index_out_of_bounds: bool = false`.
#[track_caller]
pub fn tensor_list_set_item(
    graph: &Graph,
    input_handle: impl Operand,
    index: impl Operand,
    item: impl Operand,
) -> OpBuilder {
    graph.op("TensorListSetItem").input(input_handle).input(index).input(item)
}

/// Parts of a tensor as a list.
///
/// Op `TensorListSplit`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_list_split(
    graph: &Graph,
    tensor: impl Operand,
    element_shape: impl Operand,
    lengths: impl Operand,
) -> OpBuilder {
    graph.op("TensorListSplit").input(tensor).input(element_shape).input(lengths)
}

/// The elements of a list, stacked.
///
/// Op `TensorListStack`. Output: `tensor`.
///
/// Attributes with defaults: `num_elements: int = -1`.
#[track_caller]
pub fn tensor_list_stack(
    graph: &Graph,
    input_handle: impl Operand,
    element_shape: impl Operand,
    element_dtype: DType,
) -> OpBuilder {
    graph
        .op("TensorListStack")
        .input(input_handle)
        .input(element_shape)
        .attr("element_dtype", element_dtype)
}

/// A map without a key.
///
/// Op `TensorMapErase`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_map_erase(
    graph: &Graph,
    input_handle: impl Operand,
    key: impl Operand,
    value_dtype: DType,
) -> OpBuilder {
    graph.op("TensorMapErase").input(input_handle).input(key).attr("value_dtype", value_dtype)
}

/// Whether a map has a key.
///
/// Op `TensorMapHasKey`. Output: `has_key: bool`.
#[track_caller]
pub fn tensor_map_has_key(
    graph: &Graph,
    input_handle: impl Operand,
    key: impl Operand,
) -> OpBuilder {
    graph.op("TensorMapHasKey").input(input_handle).input(key)
}

/// A map with one more entry.
///
/// Op `TensorMapInsert`. Output: `output_handle: variant`.
#[track_caller]
pub fn tensor_map_insert(
    graph: &Graph,
    input_handle: impl Operand,
    key: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph.op("TensorMapInsert").input(input_handle).input(key).input(value)
}

/// The value of a key.
///
/// Op `TensorMapLookup`. Output: `value`.
#[track_caller]
pub fn tensor_map_lookup(
    graph: &Graph,
    input_handle: impl Operand,
    key: impl Operand,
    value_dtype: DType,
) -> OpBuilder {
    graph.op("TensorMapLookup").input(input_handle).input(key).attr("value_dtype", value_dtype)
}

/// The number of entries.
///
/// Op `TensorMapSize`. Output: `size: int32`.
#[track_caller]
pub fn tensor_map_size(graph: &Graph, input_handle: impl Operand) -> OpBuilder {
    graph.op("TensorMapSize").input(input_handle)
}

/// All keys, stacked.
///
/// Op `TensorMapStackKeys`. Output: `keys`.
#[track_caller]
pub fn tensor_map_stack_keys(
    graph: &Graph,
    input_handle: impl Operand,
    key_dtype: DType,
) -> OpBuilder {
    graph.op("TensorMapStackKeys").input(input_handle).attr("key_dtype", key_dtype)
}
