//! What went wrong with TLS, in one line that reads the same at either end.

use std::error::Error;
use std::io;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError};

/// Says what is wrong, if TLS is what failed.
pub fn explain(error: &io::Error) -> Option<String> {
    let mut source: Option<&(dyn Error + 'static)> = error.get_ref().map(|error| error as _);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(words(error));
        }
        source = error.source();
    }
    None
}

/// The same error in plain words.
pub(crate) fn explained(error: io::Error) -> io::Error {
    match explain(&error) {
        Some(words) => io::Error::new(error.kind(), words),
        None => error,
    }
}

/// Like [`explained`], for what happens before both ends have agreed.
pub(crate) fn handshake_failed(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof && explain(&error).is_none() {
        let words = "it hung up during the TLS handshake; it may not speak TLS";
        return io::Error::new(error.kind(), words);
    }
    explained(error)
}

fn words(error: &rustls::Error) -> String {
    use AlertDescription as Alert;
    use CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer | Bad::BadSignature => {
                "its certificate is not signed by an authority that we trust".to_owned()
            }
            Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired".to_owned(),
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "its certificate is not valid yet".to_owned()
            }
            Bad::NotValidForNameContext { expected, presented } => {
                let expected = name(expected);
                let presented = presented.join(", ");
                format!("its certificate is not for {expected}, but for {presented}")
            }
            Bad::NotValidForName => "its certificate is for another name".to_owned(),
            other => format!("its certificate cannot be used: {other}"),
        },
        rustls::Error::NoCertificatesPresented => "it showed no certificate".to_owned(),
        rustls::Error::AlertReceived(alert) => match alert {
            // Another authority of the same name is noticed by its signature.
            Alert::UnknownCA | Alert::DecryptError => {
                "it does not trust the authority of our certificate".to_owned()
            }
            Alert::CertificateExpired => {
                "it says that our certificate has expired or is not valid yet".to_owned()
            }
            Alert::CertificateRequired => "it wants a certificate, and we have none".to_owned(),
            Alert::BadCertificate | Alert::CertificateUnknown | Alert::UnsupportedCertificate => {
                "it does not accept our certificate".to_owned()
            }
            Alert::ProtocolVersion => "it does not speak our versions of TLS".to_owned(),
            Alert::NoApplicationProtocol => "it speaks TLS, but not gRPC".to_owned(),
            other => format!("it ended the TLS connection: {other:?}"),
        },
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        rustls::Error::PeerIncompatible(_) => "it does not speak our versions of TLS".to_owned(),
        other => format!("TLS failed: {other}"),
    }
}

fn name(name: &ServerName<'_>) -> String {
    name.to_str().into_owned()
}
