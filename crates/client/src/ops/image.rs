//! Ops of the family `image`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Images with another contrast.
///
/// Op `AdjustContrast`. Output: `output: float`.
#[track_caller]
pub fn adjust_contrast(
    graph: &Graph,
    images: impl Operand,
    contrast_factor: impl Operand,
    min_value: impl Operand,
    max_value: impl Operand,
) -> OpBuilder {
    graph
        .op("AdjustContrast")
        .input(images)
        .input(contrast_factor)
        .input(min_value)
        .input(max_value)
}

/// Images with another contrast.
///
/// Op `AdjustContrastv2`. Output: `output`.
#[track_caller]
pub fn adjust_contrastv2(
    graph: &Graph,
    images: impl Operand,
    contrast_factor: impl Operand,
) -> OpBuilder {
    graph.op("AdjustContrastv2").input(images).input(contrast_factor)
}

/// Images with their hues turned.
///
/// Op `AdjustHue`. Output: `output`.
#[track_caller]
pub fn adjust_hue(graph: &Graph, images: impl Operand, delta: impl Operand) -> OpBuilder {
    graph.op("AdjustHue").input(images).input(delta)
}

/// Images with more or less colour.
///
/// Op `AdjustSaturation`. Output: `output`.
#[track_caller]
pub fn adjust_saturation(graph: &Graph, images: impl Operand, scale: impl Operand) -> OpBuilder {
    graph.op("AdjustSaturation").input(images).input(scale)
}

/// The best boxes of each class in each image, without those that overlap a better one.
///
/// Op `CombinedNonMaxSuppression`. Outputs: `nmsed_boxes: float`, `nmsed_scores: float`,
/// `nmsed_classes: float`, `valid_detections: int32`.
///
/// Attributes with defaults: `pad_per_class: bool = false`, `clip_boxes: bool = true`.
#[track_caller]
pub fn combined_non_max_suppression(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size_per_class: impl Operand,
    max_total_size: impl Operand,
    iou_threshold: impl Operand,
    score_threshold: impl Operand,
) -> OpBuilder {
    graph
        .op("CombinedNonMaxSuppression")
        .input(boxes)
        .input(scores)
        .input(max_output_size_per_class)
        .input(max_total_size)
        .input(iou_threshold)
        .input(score_threshold)
}

/// Parts of images, all resized to one size.
///
/// Op `CropAndResize`. Output: `crops: float`.
///
/// Attributes with defaults: `method: string = "bilinear"`, `extrapolation_value: float = 0`.
#[track_caller]
pub fn crop_and_resize(
    graph: &Graph,
    image: impl Operand,
    boxes: impl Operand,
    box_ind: impl Operand,
    crop_size: impl Operand,
) -> OpBuilder {
    graph.op("CropAndResize").input(image).input(boxes).input(box_ind).input(crop_size)
}

/// The gradient of cropping by the boxes.
///
/// Op `CropAndResizeGradBoxes`. Output: `output: float`.
///
/// Attributes with defaults: `method: string = "bilinear"`.
#[track_caller]
pub fn crop_and_resize_grad_boxes(
    graph: &Graph,
    grads: impl Operand,
    image: impl Operand,
    boxes: impl Operand,
    box_ind: impl Operand,
) -> OpBuilder {
    graph.op("CropAndResizeGradBoxes").input(grads).input(image).input(boxes).input(box_ind)
}

/// The gradient of cropping by the images.
///
/// Op `CropAndResizeGradImage`. Output: `output`.
///
/// Attributes with defaults: `method: string = "bilinear"`.
#[track_caller]
pub fn crop_and_resize_grad_image(
    graph: &Graph,
    grads: impl Operand,
    boxes: impl Operand,
    box_ind: impl Operand,
    image_size: impl Operand,
    t: DType,
) -> OpBuilder {
    graph
        .op("CropAndResizeGradImage")
        .input(grads)
        .input(boxes)
        .input(box_ind)
        .input(image_size)
        .attr("T", t)
}

/// A part of a JPEG image.
///
/// Op `DecodeAndCropJpeg`. Output: `image: uint8`.
///
/// Attributes with defaults: `channels: int = 0`, `ratio: int = 1`, `fancy_upscaling: bool = true`,
/// `try_recover_truncated: bool = false`, `acceptable_fraction: float = 1`,
/// `dct_method: string = ""`.
#[track_caller]
pub fn decode_and_crop_jpeg(
    graph: &Graph,
    contents: impl Operand,
    crop_window: impl Operand,
) -> OpBuilder {
    graph.op("DecodeAndCropJpeg").input(contents).input(crop_window)
}

/// The pixels of a BMP image.
///
/// Op `DecodeBmp`. Output: `image: uint8`.
///
/// Attributes with defaults: `channels: int = 0`.
#[track_caller]
pub fn decode_bmp(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeBmp").input(contents)
}

/// The frames of a GIF image.
///
/// Op `DecodeGif`. Output: `image: uint8`.
#[track_caller]
pub fn decode_gif(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeGif").input(contents)
}

/// The pixels of a BMP, GIF, JPEG or PNG image.
///
/// Op `DecodeImage`. Output: `image`.
///
/// Attributes with defaults: `channels: int = 0`, `dtype: type = DT_UINT8`,
/// `expand_animations: bool = true`.
#[track_caller]
pub fn decode_image(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeImage").input(contents)
}

/// The pixels of a JPEG image.
///
/// Op `DecodeJpeg`. Output: `image: uint8`.
///
/// Attributes with defaults: `channels: int = 0`, `ratio: int = 1`, `fancy_upscaling: bool = true`,
/// `try_recover_truncated: bool = false`, `acceptable_fraction: float = 1`,
/// `dct_method: string = ""`.
#[track_caller]
pub fn decode_jpeg(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeJpeg").input(contents)
}

/// The pixels of a PNG image.
///
/// Op `DecodePng`. Output: `image`.
///
/// Attributes with defaults: `channels: int = 0`, `dtype: type = DT_UINT8`.
#[track_caller]
pub fn decode_png(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodePng").input(contents)
}

/// `DecodeWebP`: `image` of `contents`.
///
/// Output: `image`.
///
/// Attributes with defaults: `channels: int = 0`, `dtype: type = DT_UINT8`.
#[track_caller]
pub fn decode_web_p(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeWebP").input(contents)
}

/// Images with boxes drawn on them.
///
/// Op `DrawBoundingBoxes`. Output: `output`.
#[track_caller]
pub fn draw_bounding_boxes(graph: &Graph, images: impl Operand, boxes: impl Operand) -> OpBuilder {
    graph.op("DrawBoundingBoxes").input(images).input(boxes)
}

/// Images with boxes drawn on them.
///
/// Op `DrawBoundingBoxesV2`. Output: `output`.
#[track_caller]
pub fn draw_bounding_boxes_v2(
    graph: &Graph,
    images: impl Operand,
    boxes: impl Operand,
    colors: impl Operand,
) -> OpBuilder {
    graph.op("DrawBoundingBoxesV2").input(images).input(boxes).input(colors)
}

/// An image as JPEG.
///
/// Op `EncodeJpeg`. Output: `contents: string`.
///
/// Attributes with defaults: `format: string = ""`, `quality: int = 95`,
/// `progressive: bool = false`, `optimize_size: bool = false`, `chroma_downsampling: bool = true`,
/// `density_unit: string = "in"`, `x_density: int = 300`, `y_density: int = 300`,
/// `xmp_metadata: string = ""`.
#[track_caller]
pub fn encode_jpeg(graph: &Graph, image: impl Operand) -> OpBuilder {
    graph.op("EncodeJpeg").input(image)
}

/// An image as JPEG of a given quality.
///
/// Op `EncodeJpegVariableQuality`. Output: `contents: string`.
#[track_caller]
pub fn encode_jpeg_variable_quality(
    graph: &Graph,
    images: impl Operand,
    quality: impl Operand,
) -> OpBuilder {
    graph.op("EncodeJpegVariableQuality").input(images).input(quality)
}

/// Images as PNG.
///
/// Op `EncodePng`. Output: `contents: string`.
///
/// Attributes with defaults: `compression: int = -1`.
#[track_caller]
pub fn encode_png(graph: &Graph, image: impl Operand) -> OpBuilder {
    graph.op("EncodePng").input(image)
}

/// A window of each image around a given centre.
///
/// Op `ExtractGlimpse`. Output: `glimpse: float`.
///
/// Attributes with defaults: `centered: bool = true`, `normalized: bool = true`,
/// `uniform_noise: bool = true`, `noise: string = "uniform"`.
#[track_caller]
pub fn extract_glimpse(
    graph: &Graph,
    input: impl Operand,
    size: impl Operand,
    offsets: impl Operand,
) -> OpBuilder {
    graph.op("ExtractGlimpse").input(input).input(size).input(offsets)
}

/// A window of each image around a given centre.
///
/// Op `ExtractGlimpseV2`. Output: `glimpse: float`.
///
/// Attributes with defaults: `centered: bool = true`, `normalized: bool = true`,
/// `uniform_noise: bool = true`, `noise: string = "uniform"`.
#[track_caller]
pub fn extract_glimpse_v2(
    graph: &Graph,
    input: impl Operand,
    size: impl Operand,
    offsets: impl Operand,
) -> OpBuilder {
    graph.op("ExtractGlimpseV2").input(input).input(size).input(offsets)
}

/// The size of a JPEG image, without decoding it.
///
/// Op `ExtractJpegShape`. Output: `image_shape`.
///
/// Attributes with defaults: `output_type: type = DT_INT32`.
#[track_caller]
pub fn extract_jpeg_shape(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("ExtractJpegShape").input(contents)
}

/// Colours from hue, saturation and value.
///
/// Op `HSVToRGB`. Output: `output`.
#[track_caller]
pub fn hsv_to_rgb(graph: &Graph, images: impl Operand) -> OpBuilder {
    graph.op("HSVToRGB").input(images)
}

/// Images as seen through projections.
///
/// Op `ImageProjectiveTransformV2`. Output: `transformed_images`.
///
/// Attributes with defaults: `fill_mode: string = "CONSTANT"`.
#[track_caller]
pub fn image_projective_transform_v2(
    graph: &Graph,
    images: impl Operand,
    transforms: impl Operand,
    output_shape: impl Operand,
    interpolation: &str,
) -> OpBuilder {
    graph
        .op("ImageProjectiveTransformV2")
        .input(images)
        .input(transforms)
        .input(output_shape)
        .attr("interpolation", interpolation)
}

/// Images as seen through projections.
///
/// Op `ImageProjectiveTransformV3`. Output: `transformed_images`.
///
/// Attributes with defaults: `fill_mode: string = "CONSTANT"`.
#[track_caller]
pub fn image_projective_transform_v3(
    graph: &Graph,
    images: impl Operand,
    transforms: impl Operand,
    output_shape: impl Operand,
    fill_value: impl Operand,
    interpolation: &str,
) -> OpBuilder {
    graph
        .op("ImageProjectiveTransformV3")
        .input(images)
        .input(transforms)
        .input(output_shape)
        .input(fill_value)
        .attr("interpolation", interpolation)
}

/// The numbers of the best boxes, without those that overlap a better one.
///
/// Op `NonMaxSuppression`. Output: `selected_indices: int32`.
///
/// Attributes with defaults: `iou_threshold: float = 0.5`.
#[track_caller]
pub fn non_max_suppression(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
) -> OpBuilder {
    graph.op("NonMaxSuppression").input(boxes).input(scores).input(max_output_size)
}

/// The numbers of the best boxes, without those that overlap a better one.
///
/// Op `NonMaxSuppressionV2`. Output: `selected_indices: int32`.
#[track_caller]
pub fn non_max_suppression_v2(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
    iou_threshold: impl Operand,
) -> OpBuilder {
    graph
        .op("NonMaxSuppressionV2")
        .input(boxes)
        .input(scores)
        .input(max_output_size)
        .input(iou_threshold)
}

/// The numbers of the best boxes, without those that overlap a better one.
///
/// Op `NonMaxSuppressionV3`. Output: `selected_indices: int32`.
#[track_caller]
pub fn non_max_suppression_v3(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
    iou_threshold: impl Operand,
    score_threshold: impl Operand,
) -> OpBuilder {
    graph
        .op("NonMaxSuppressionV3")
        .input(boxes)
        .input(scores)
        .input(max_output_size)
        .input(iou_threshold)
        .input(score_threshold)
}

/// The numbers of the best boxes, without those that overlap a better one.
///
/// Op `NonMaxSuppressionV4`. Outputs: `selected_indices: int32`, `valid_outputs: int32`.
///
/// Attributes with defaults: `pad_to_max_output_size: bool = false`.
#[track_caller]
pub fn non_max_suppression_v4(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
    iou_threshold: impl Operand,
    score_threshold: impl Operand,
) -> OpBuilder {
    graph
        .op("NonMaxSuppressionV4")
        .input(boxes)
        .input(scores)
        .input(max_output_size)
        .input(iou_threshold)
        .input(score_threshold)
}

/// The numbers of the best boxes, without those that overlap a better one.
///
/// Op `NonMaxSuppressionV5`. Outputs: `selected_indices: int32`, `selected_scores`,
/// `valid_outputs: int32`.
///
/// Attributes with defaults: `pad_to_max_output_size: bool = false`.
#[track_caller]
pub fn non_max_suppression_v5(
    graph: &Graph,
    boxes: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
    iou_threshold: impl Operand,
    score_threshold: impl Operand,
    soft_nms_sigma: impl Operand,
) -> OpBuilder {
    graph
        .op("NonMaxSuppressionV5")
        .input(boxes)
        .input(scores)
        .input(max_output_size)
        .input(iou_threshold)
        .input(score_threshold)
        .input(soft_nms_sigma)
}

/// The numbers of the best boxes, by a given table of overlaps.
///
/// Op `NonMaxSuppressionWithOverlaps`. Output: `selected_indices: int32`.
#[track_caller]
pub fn non_max_suppression_with_overlaps(
    graph: &Graph,
    overlaps: impl Operand,
    scores: impl Operand,
    max_output_size: impl Operand,
    overlap_threshold: impl Operand,
    score_threshold: impl Operand,
) -> OpBuilder {
    graph
        .op("NonMaxSuppressionWithOverlaps")
        .input(overlaps)
        .input(scores)
        .input(max_output_size)
        .input(overlap_threshold)
        .input(score_threshold)
}

/// Quantized images in another size, by linear interpolation.
///
/// Op `QuantizedResizeBilinear`. Outputs: `resized_images`, `out_min: float`, `out_max: float`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn quantized_resize_bilinear(
    graph: &Graph,
    images: impl Operand,
    size: impl Operand,
    min: impl Operand,
    max: impl Operand,
) -> OpBuilder {
    graph.op("QuantizedResizeBilinear").input(images).input(size).input(min).input(max)
}

/// Hue, saturation and value of colours.
///
/// Op `RGBToHSV`. Output: `output`.
#[track_caller]
pub fn rgb_to_hsv(graph: &Graph, images: impl Operand) -> OpBuilder {
    graph.op("RGBToHSV").input(images)
}

/// Images in another size, each pixel the mean of the area that it covers.
///
/// Op `ResizeArea`. Output: `resized_images: float`.
///
/// Attributes with defaults: `align_corners: bool = false`.
#[track_caller]
pub fn resize_area(graph: &Graph, images: impl Operand, size: impl Operand) -> OpBuilder {
    graph.op("ResizeArea").input(images).input(size)
}

/// Images in another size, by cubic interpolation.
///
/// Op `ResizeBicubic`. Output: `resized_images: float`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_bicubic(graph: &Graph, images: impl Operand, size: impl Operand) -> OpBuilder {
    graph.op("ResizeBicubic").input(images).input(size)
}

/// The gradient of cubic resizing.
///
/// Op `ResizeBicubicGrad`. Output: `output`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_bicubic_grad(
    graph: &Graph,
    grads: impl Operand,
    original_image: impl Operand,
) -> OpBuilder {
    graph.op("ResizeBicubicGrad").input(grads).input(original_image)
}

/// Images in another size, by linear interpolation.
///
/// Op `ResizeBilinear`. Output: `resized_images: float`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_bilinear(graph: &Graph, images: impl Operand, size: impl Operand) -> OpBuilder {
    graph.op("ResizeBilinear").input(images).input(size)
}

/// The gradient of linear resizing.
///
/// Op `ResizeBilinearGrad`. Output: `output`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_bilinear_grad(
    graph: &Graph,
    grads: impl Operand,
    original_image: impl Operand,
) -> OpBuilder {
    graph.op("ResizeBilinearGrad").input(grads).input(original_image)
}

/// Images in another size, each pixel the nearest of the old ones.
///
/// Op `ResizeNearestNeighbor`. Output: `resized_images`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_nearest_neighbor(
    graph: &Graph,
    images: impl Operand,
    size: impl Operand,
) -> OpBuilder {
    graph.op("ResizeNearestNeighbor").input(images).input(size)
}

/// The gradient of nearest-neighbour resizing.
///
/// Op `ResizeNearestNeighborGrad`. Output: `output`.
///
/// Attributes with defaults: `align_corners: bool = false`, `half_pixel_centers: bool = false`.
#[track_caller]
pub fn resize_nearest_neighbor_grad(
    graph: &Graph,
    grads: impl Operand,
    size: impl Operand,
) -> OpBuilder {
    graph.op("ResizeNearestNeighborGrad").input(grads).input(size)
}

/// A random part of an image that still shows enough of an object.
///
/// Op `SampleDistortedBoundingBox`. Outputs: `begin`, `size`, `bboxes: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`, `min_object_covered: float = 0.1`,
/// `aspect_ratio_range: list(float) = [0.75, 1.33]`, `area_range: list(float) = [0.05, 1]`,
/// `max_attempts: int = 100`, `use_image_if_no_bounding_boxes: bool = false`.
#[track_caller]
pub fn sample_distorted_bounding_box(
    graph: &Graph,
    image_size: impl Operand,
    bounding_boxes: impl Operand,
) -> OpBuilder {
    graph.op("SampleDistortedBoundingBox").input(image_size).input(bounding_boxes)
}

/// A random part of an image that still shows enough of an object.
///
/// Op `SampleDistortedBoundingBoxV2`. Outputs: `begin`, `size`, `bboxes: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`,
/// `aspect_ratio_range: list(float) = [0.75, 1.33]`, `area_range: list(float) = [0.05, 1]`,
/// `max_attempts: int = 100`, `use_image_if_no_bounding_boxes: bool = false`.
#[track_caller]
pub fn sample_distorted_bounding_box_v2(
    graph: &Graph,
    image_size: impl Operand,
    bounding_boxes: impl Operand,
    min_object_covered: impl Operand,
) -> OpBuilder {
    graph
        .op("SampleDistortedBoundingBoxV2")
        .input(image_size)
        .input(bounding_boxes)
        .input(min_object_covered)
}

/// Images scaled and moved, with a choice of filters.
///
/// Op `ScaleAndTranslate`. Output: `resized_images: float`.
///
/// Attributes with defaults: `kernel_type: string = "lanczos3"`, `antialias: bool = true`.
#[track_caller]
pub fn scale_and_translate(
    graph: &Graph,
    images: impl Operand,
    size: impl Operand,
    scale: impl Operand,
    translation: impl Operand,
) -> OpBuilder {
    graph.op("ScaleAndTranslate").input(images).input(size).input(scale).input(translation)
}

/// The gradient of scaling and moving.
///
/// Op `ScaleAndTranslateGrad`. Output: `output`.
///
/// Attributes with defaults: `kernel_type: string = "lanczos3"`, `antialias: bool = true`.
#[track_caller]
pub fn scale_and_translate_grad(
    graph: &Graph,
    grads: impl Operand,
    original_image: impl Operand,
    scale: impl Operand,
    translation: impl Operand,
) -> OpBuilder {
    graph
        .op("ScaleAndTranslateGrad")
        .input(grads)
        .input(original_image)
        .input(scale)
        .input(translation)
}

/// A random part of an image; equal seeds give equal parts.
///
/// Op `StatelessSampleDistortedBoundingBox`. Outputs: `begin`, `size`, `bboxes: float`.
///
/// Attributes with defaults: `aspect_ratio_range: list(float) = [0.75, 1.33]`,
/// `area_range: list(float) = [0.05, 1]`, `max_attempts: int = 100`,
/// `use_image_if_no_bounding_boxes: bool = false`.
#[track_caller]
pub fn stateless_sample_distorted_bounding_box(
    graph: &Graph,
    image_size: impl Operand,
    bounding_boxes: impl Operand,
    min_object_covered: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph
        .op("StatelessSampleDistortedBoundingBox")
        .input(image_size)
        .input(bounding_boxes)
        .input(min_object_covered)
        .input(seed)
}
