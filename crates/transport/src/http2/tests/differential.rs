//! Another implementation of HTTP/2 as the client: what it makes of our frames is what was meant.

use bytes::Bytes;
use h2::client;
use http::{HeaderMap, Request};
use tokio::sync::watch;

use super::*;

/// Connects the other implementation to a server of ours, through memory.
async fn connect(builder: client::Builder) -> (client::SendRequest<Bytes>, watch::Sender<bool>) {
    let (near, far) = tokio::io::duplex(10_000);
    let stop = watch::Sender::new(false);
    let stopped = stop.subscribe();
    let (sender, _) = mpsc::unbounded_channel();
    let limits = Limits::default();
    let methods = Arc::new(echo(sender));
    let connection = Connection::new(far, Peer::Inside, methods, &limits, Memory::new(usize::MAX));
    tokio::spawn(connection.serve(stopped));
    let (client, connection) = builder.handshake(near).await.unwrap();
    tokio::spawn(connection);
    (client.ready().await.unwrap(), stop)
}

fn request(path: &str) -> Request<()> {
    Request::post(format!("http://server{path}"))
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .body(())
        .unwrap()
}

/// Hears an answer to its end: all of its data, and its trailers.
async fn hear(response: client::ResponseFuture) -> (Vec<u8>, HeaderMap) {
    let mut body = response.await.unwrap().into_body();
    let mut data = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        data.extend_from_slice(&piece);
    }
    (data, body.trailers().await.unwrap().unwrap_or_default())
}

/// Sends all of some data, as the windows allow.
async fn say(stream: &mut h2::SendStream<Bytes>, mut data: Bytes, ends: bool) {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        let room = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
        let piece = data.split_to(room.min(data.len()));
        let is_last = ends && data.is_empty();
        stream.send_data(piece, is_last).unwrap();
    }
}

#[tokio::test]
async fn messages_of_all_sizes_come_and_go() {
    for frame in [16_384, 1 << 20] {
        let mut builder = client::Builder::new();
        builder.max_frame_size(frame).initial_window_size(100_000);
        let (client, _stop) = connect(builder).await;
        for len in [0, 1, 9, 16_384, 65_535, 65_536, 3_000_000] {
            let text: Vec<u8> =
                (0..len as u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect();
            for path in ["/echo/now", "/echo/later", "/echo/each"] {
                let mut client = client.clone().ready().await.unwrap();
                let (response, mut stream) = client.send_request(request(path), false).unwrap();
                let (_, (data, trailers)) = tokio::join!(
                    say(&mut stream, Bytes::from(message(&text)), true),
                    hear(response)
                );
                assert!(data == message(&text), "{path} with {len} bytes");
                assert_eq!(trailers["grpc-status"], "0");
            }
        }
    }
}

#[tokio::test]
async fn many_calls_share_a_connection() {
    let (client, _stop) = connect(client::Builder::new()).await;
    let mut calls = Vec::new();
    for at in 0..500usize {
        let mut client = client.clone().ready().await.unwrap();
        calls.push(tokio::spawn(async move {
            let text = vec![at as u8; at * 37];
            let (response, mut stream) =
                client.send_request(request("/echo/later"), false).unwrap();
            let (_, (data, _)) =
                tokio::join!(say(&mut stream, Bytes::from(message(&text)), true), hear(response));
            assert!(data == message(&text), "call {at}");
        }));
    }
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn streams_go_both_ways() {
    let (client, _stop) = connect(client::Builder::new()).await;
    let mut client = client.ready().await.unwrap();
    let (response, mut stream) = client.send_request(request("/echo/each"), false).unwrap();
    let mut body = response.await.unwrap().into_body();
    for at in 0..100 {
        let text = message(&[at; 3000]);
        say(&mut stream, Bytes::from(text.clone()), false).await;
        let mut heard = Vec::new();
        while heard.len() < text.len() {
            let piece = body.data().await.unwrap().unwrap();
            body.flow_control().release_capacity(piece.len()).unwrap();
            heard.extend_from_slice(&piece);
        }
        assert_eq!(heard, text);
    }
    say(&mut stream, Bytes::from(message(b"end")), false).await;
    assert!(body.data().await.is_none_or(|data| data.is_err() || data.unwrap().is_empty()));
    assert_eq!(body.trailers().await.unwrap().unwrap()["grpc-status"], "9");
}

#[tokio::test]
async fn refusals_are_understood() {
    let (client, stop) = connect(client::Builder::new()).await;
    let mut client = client.ready().await.unwrap();
    let (response, _stream) = client.send_request(request("/no/such"), false).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "12");
    let plain = Request::post("http://server/echo/now").body(()).unwrap();
    let (response, _stream) = client.send_request(plain, true).unwrap();
    assert_eq!(response.await.unwrap().status(), 415);
    stop.send_replace(true);
    // The connection ends without an error, and nothing new is taken.
    assert!(
        std::future::poll_fn(|cx| client.poll_ready(cx)).await.is_err() || {
            let (response, _) = client.send_request(request("/echo/now"), true).unwrap();
            response.await.is_err()
        }
    );
}
