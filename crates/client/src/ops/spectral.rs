//! Ops of the family `spectral`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// The spectra of a sliding window over audio samples.
///
/// Op `AudioSpectrogram`. Output: `spectrogram: float`.
///
/// Attributes with defaults: `magnitude_squared: bool = false`.
#[track_caller]
pub fn audio_spectrogram(
    graph: &Graph,
    input: impl Operand,
    window_size: i64,
    stride: i64,
) -> OpBuilder {
    graph
        .op("AudioSpectrogram")
        .input(input)
        .attr("window_size", window_size)
        .attr("stride", stride)
}

/// The Fourier transform along the last axis.
///
/// Op `BatchFFT`. Output: `output: complex64`.
#[track_caller]
pub fn batch_fft(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchFFT").input(input)
}

/// The Fourier transform along the last two axes.
///
/// Op `BatchFFT2D`. Output: `output: complex64`.
#[track_caller]
pub fn batch_fft2d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchFFT2D").input(input)
}

/// The Fourier transform along the last three axes.
///
/// Op `BatchFFT3D`. Output: `output: complex64`.
#[track_caller]
pub fn batch_fft3d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchFFT3D").input(input)
}

/// The inverse Fourier transform along the last axis.
///
/// Op `BatchIFFT`. Output: `output: complex64`.
#[track_caller]
pub fn batch_ifft(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchIFFT").input(input)
}

/// The inverse Fourier transform along the last two axes.
///
/// Op `BatchIFFT2D`. Output: `output: complex64`.
#[track_caller]
pub fn batch_ifft2d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchIFFT2D").input(input)
}

/// The inverse Fourier transform along the last three axes.
///
/// Op `BatchIFFT3D`. Output: `output: complex64`.
#[track_caller]
pub fn batch_ifft3d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("BatchIFFT3D").input(input)
}

/// The samples and the rate of 16-bit WAV audio.
///
/// Op `DecodeWav`. Outputs: `audio: float`, `sample_rate: int32`.
///
/// Attributes with defaults: `desired_channels: int = -1`, `desired_samples: int = -1`.
#[track_caller]
pub fn decode_wav(graph: &Graph, contents: impl Operand) -> OpBuilder {
    graph.op("DecodeWav").input(contents)
}

/// Audio samples as a WAV file.
///
/// Op `EncodeWav`. Output: `contents: string`.
#[track_caller]
pub fn encode_wav(graph: &Graph, audio: impl Operand, sample_rate: impl Operand) -> OpBuilder {
    graph.op("EncodeWav").input(audio).input(sample_rate)
}

/// The Fourier transform along the last axis.
///
/// Op `FFT`. Output: `output`.
#[track_caller]
pub fn fft(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("FFT").input(input)
}

/// The Fourier transform along the last two axes.
///
/// Op `FFT2D`. Output: `output`.
#[track_caller]
pub fn fft2d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("FFT2D").input(input)
}

/// The Fourier transform along the last three axes.
///
/// Op `FFT3D`. Output: `output`.
#[track_caller]
pub fn fft3d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("FFT3D").input(input)
}

/// The inverse Fourier transform along the last axis.
///
/// Op `IFFT`. Output: `output`.
#[track_caller]
pub fn ifft(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("IFFT").input(input)
}

/// The inverse Fourier transform along the last two axes.
///
/// Op `IFFT2D`. Output: `output`.
#[track_caller]
pub fn ifft2d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("IFFT2D").input(input)
}

/// The inverse Fourier transform along the last three axes.
///
/// Op `IFFT3D`. Output: `output`.
#[track_caller]
pub fn ifft3d(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("IFFT3D").input(input)
}

/// Real numbers from half of their Fourier transform along the last axis.
///
/// Op `IRFFT`. Output: `output`.
///
/// Attributes with defaults: `Treal: type = DT_FLOAT`.
#[track_caller]
pub fn irfft(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("IRFFT").input(input).input(fft_length)
}

/// Real numbers from half of their Fourier transform along the last two axes.
///
/// Op `IRFFT2D`. Output: `output`.
///
/// Attributes with defaults: `Treal: type = DT_FLOAT`.
#[track_caller]
pub fn irfft2d(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("IRFFT2D").input(input).input(fft_length)
}

/// Real numbers from half of their Fourier transform along the last three axes.
///
/// Op `IRFFT3D`. Output: `output`.
///
/// Attributes with defaults: `Treal: type = DT_FLOAT`.
#[track_caller]
pub fn irfft3d(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("IRFFT3D").input(input).input(fft_length)
}

/// The mel-frequency cepstral coefficients of spectra.
///
/// Op `Mfcc`. Output: `output: float`.
///
/// Attributes with defaults: `upper_frequency_limit: float = 4000`,
/// `lower_frequency_limit: float = 20`, `filterbank_channel_count: int = 40`,
/// `dct_coefficient_count: int = 13`.
#[track_caller]
pub fn mfcc(graph: &Graph, spectrogram: impl Operand, sample_rate: impl Operand) -> OpBuilder {
    graph.op("Mfcc").input(spectrogram).input(sample_rate)
}

/// Half of the Fourier transform of real numbers along the last axis; the rest follows from it.
///
/// Op `RFFT`. Output: `output`.
///
/// Attributes with defaults: `Tcomplex: type = DT_COMPLEX64`.
#[track_caller]
pub fn rfft(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("RFFT").input(input).input(fft_length)
}

/// Half of the Fourier transform of real numbers along the last two axes.
///
/// Op `RFFT2D`. Output: `output`.
///
/// Attributes with defaults: `Tcomplex: type = DT_COMPLEX64`.
#[track_caller]
pub fn rfft2d(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("RFFT2D").input(input).input(fft_length)
}

/// Half of the Fourier transform of real numbers along the last three axes.
///
/// Op `RFFT3D`. Output: `output`.
///
/// Attributes with defaults: `Tcomplex: type = DT_COMPLEX64`.
#[track_caller]
pub fn rfft3d(graph: &Graph, input: impl Operand, fft_length: impl Operand) -> OpBuilder {
    graph.op("RFFT3D").input(input).input(fft_length)
}
