//! Both ends of a connection together.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tensorfleet_framework::Parcel;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_security::authority::Authority;
use tensorfleet_security::{Credentials, Files, Protocol};
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Code, DType, Shape};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::client::{Broken, Call, Ends, Link};
use super::frame::Kind;
use super::inbox::{Inbox, Incoming};
use super::memory::Address;
use super::outbox::Outbox;
use super::socket::Socket;

fn ends() -> Ends {
    let silence = Duration::from_secs(60);
    Ends { own: "/job:a".to_owned(), peer: "/job:b".to_owned(), silence, events: Arc::default() }
}

fn pair() -> (Arc<Outbox>, Inbox) {
    let (one, other) = UnixStream::pair().unwrap();
    connected(Socket::Unix(one), Socket::Unix(other))
}

/// The same, encrypted.
async fn encrypted_pair() -> (Arc<Outbox>, Inbox) {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::init(directory.path(), "fleet", 1).unwrap();
    let issued = authority.issue_task("a", 0, &["localhost".to_owned()], 1).unwrap();
    let files = Files {
        certificate: Some(issued.certificate),
        key: Some(issued.key),
        authorities: authority.root(),
        ..Files::default()
    };
    let credentials = Credentials::load(files).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async {
        let (socket, _) = listener.accept().await.unwrap();
        let accepted = credentials.accept(socket).await.unwrap();
        assert_eq!(accepted.protocol, Protocol::Link);
        Socket::of_server(accepted.stream)
    };
    let connecting = async {
        let socket = TcpStream::connect(address).await.unwrap();
        let stream = credentials.connect(socket, "localhost", Protocol::Link, "").await.unwrap();
        Socket::of_client(stream)
    };
    let (accepted, connected_socket) = tokio::join!(accepting, connecting);
    connected(connected_socket, accepted)
}

fn connected(one: Socket, other: Socket) -> (Arc<Outbox>, Inbox) {
    let outbox = Arc::new(Outbox::new(Arc::new(one)));
    tokio::spawn({
        let outbox = Arc::clone(&outbox);
        async move { outbox.drain().await }
    });
    (outbox, Inbox::new(Arc::new(other)))
}

/// Reads until enough came. Returns whole frames; pieces are put behind each other by call.
async fn read_until(
    inbox: &mut Inbox,
    contents: &mut [Vec<u8>],
    is_enough: impl Fn(&[(Kind, Vec<u8>)], &[Vec<u8>]) -> bool,
) -> Vec<(Kind, Vec<u8>)> {
    let mut frames = Vec::new();
    loop {
        while let Some(incoming) = inbox.next().unwrap() {
            let header = match incoming {
                Incoming::Frame(header, message) => {
                    frames.push((header.kind, message.to_vec()));
                    continue;
                }
                Incoming::Piece(header) => header,
            };
            let mut piece = vec![0; header.len as usize];
            let mut filled = 0;
            while filled < piece.len() {
                let len = inbox.read_piece(&mut piece[filled..]).unwrap();
                filled += len;
                if len == 0 {
                    inbox.wait().await.unwrap();
                }
            }
            contents[header.call as usize].extend_from_slice(&piece);
        }
        if is_enough(&frames, contents) {
            return frames;
        }
        assert!(inbox.fill().await.unwrap(), "the connection ended");
    }
}

#[tokio::test]
async fn small_frames_pass_between_the_pieces_of_large_tensors() {
    for (outbox, inbox) in [pair(), encrypted_pair().await] {
        check_pieces(outbox, inbox).await;
    }
}

async fn check_pieces(outbox: Arc<Outbox>, mut inbox: Inbox) {
    let large: Vec<u8> = (0..10 << 20).map(|i| (i % 251) as u8).collect();
    outbox.send_tensor(0, b"first", Bytes::from(large.clone()));
    outbox.send_tensor(1, b"second", Bytes::from(large.clone()));
    outbox.send(Kind::Reply, 2, b"small");
    let mut contents = vec![Vec::new(), Vec::new()];
    let frames = read_until(&mut inbox, &mut contents, |frames, _| frames.len() == 3).await;
    assert_eq!(frames[2], (Kind::Reply, b"small".to_vec()));
    assert!(contents[0].len() < large.len() && contents[1].len() < large.len());
    outbox.forget_tensor(1);
    let is_whole = |contents: &[Vec<u8>]| contents[0].len() == large.len();
    read_until(&mut inbox, &mut contents, |_, contents| is_whole(contents)).await;
    assert_eq!(contents[0], large);
    assert!(contents[1].len() < large.len(), "nobody wanted the rest");
}

#[tokio::test]
async fn frames_under_a_cork_leave_when_it_is_drawn() {
    let (outbox, mut inbox) = pair();
    let cork = outbox.cork();
    outbox.send(Kind::Reply, 1, b"a");
    outbox.send(Kind::Failure, 2, b"b");
    drop(cork);
    assert!(inbox.fill().await.unwrap());
    let mut kinds = Vec::new();
    while let Some(Incoming::Frame(header, _)) = inbox.next().unwrap() {
        kinds.push(header.kind);
    }
    assert_eq!(kinds, [Kind::Reply, Kind::Failure], "one read brings both");
}

#[tokio::test]
async fn long_messages_arrive_and_nonsense_is_refused() {
    let (outbox, mut inbox) = pair();
    let long = vec![7; 1 << 20];
    outbox.send(Kind::Reply, 1, &long);
    let frames = read_until(&mut inbox, &mut [], |frames, _| !frames.is_empty()).await;
    assert_eq!(frames, [(Kind::Reply, long)]);
    let (one, other) = UnixStream::pair().unwrap();
    Socket::Unix(one).write_all(&[0xff; 64]).await.unwrap();
    let mut inbox = Inbox::new(Arc::new(Socket::Unix(other)));
    assert!(inbox.fill().await.unwrap());
    assert!(inbox.next().is_err());
}

/// A server's end of a link, and a call that waits for a tensor.
async fn call_for_tensor() -> (Arc<Outbox>, Inbox, Call<Parcel>) {
    let (one, other) = UnixStream::pair().unwrap();
    let link = Link::over(Socket::Unix(one), ends());
    let other = Arc::new(Socket::Unix(other));
    let (outbox, mut inbox) = (Arc::new(Outbox::new(Arc::clone(&other))), Inbox::new(other));
    let call = link.recv_tensor(&pb::RecvTensorRequest::default());
    let frames = read_until(&mut inbox, &mut [], |frames, _| !frames.is_empty()).await;
    assert_eq!(frames[0].0, Kind::RecvTensor);
    (outbox, inbox, call)
}

/// The answer without its contents: so many bytes.
fn head(len: usize) -> Vec<u8> {
    let tensor = pb::TensorProto {
        dtype: DType::UInt8 as i32,
        tensor_shape: Some(tensor_wire::shape_proto(&Shape::vector(len))),
        ..Default::default()
    };
    pb::RecvTensorResponse { tensor: Some(tensor), ..Default::default() }.encode_to_vec()
}

#[tokio::test]
async fn a_lent_tensor_is_read_and_returned() {
    let (outbox, mut inbox, call) = call_for_tensor().await;
    let contents: Vec<u8> = (0..3 << 20).map(|i| (i % 251) as u8).collect();
    let address = Address::of(&contents).to_bytes();
    outbox.send(Kind::Lent, 1, &[&address[..], &head(contents.len())].concat());
    let parcel = call.await.unwrap().unwrap();
    assert_eq!(parcel.tensor.raw(), contents);
    let frames = read_until(&mut inbox, &mut [], |frames, _| !frames.is_empty()).await;
    assert_eq!(frames, [(Kind::Returned, Vec::new())]);
}

#[tokio::test]
async fn many_and_large_tensors_are_lent_at_once() {
    let (one, other) = UnixStream::pair().unwrap();
    let link = Link::over(Socket::Unix(one), ends());
    let other = Arc::new(Socket::Unix(other));
    let (outbox, mut inbox) = (Outbox::new(Arc::clone(&other)), Inbox::new(other));
    let sizes = [3 << 20, 1 << 20, 100_000, 9 << 20, (4 << 20) + 1, 2 << 20, 70_000];
    let tensors: Vec<Vec<u8>> = (0..sizes.len())
        .map(|which| (0..sizes[which]).map(|i| ((i + which) % 251) as u8).collect())
        .collect();
    let calls: Vec<_> =
        tensors.iter().map(|_| link.recv_tensor(&pb::RecvTensorRequest::default())).collect();
    for (id, tensor) in (1..).zip(&tensors) {
        let address = Address::of(tensor).to_bytes();
        outbox.send(Kind::Lent, id, &[&address[..], &head(tensor.len())].concat());
    }
    for (call, tensor) in calls.into_iter().zip(&tensors) {
        assert!(call.await.unwrap().unwrap().tensor.raw() == tensor);
    }
    let count = |frames: &[(Kind, Vec<u8>)], kind| frames.iter().filter(|f| f.0 == kind).count();
    let all = 2 * sizes.len();
    let frames = read_until(&mut inbox, &mut [], |frames, _| frames.len() == all).await;
    assert_eq!(count(&frames, Kind::Returned), sizes.len());
}

#[tokio::test]
async fn what_cannot_be_read_is_asked_for_in_pieces() {
    let (outbox, mut inbox, call) = call_for_tensor().await;
    let contents = vec![3; 100_000];
    let nowhere = Address { start: 16, len: contents.len() as u64 }.to_bytes();
    outbox.send(Kind::Lent, 1, &[&nowhere[..], &head(contents.len())].concat());
    let frames = read_until(&mut inbox, &mut [], |frames, _| !frames.is_empty()).await;
    assert_eq!(frames, [(Kind::Unreadable, Vec::new())]);
    outbox.send_tensor(1, &head(contents.len()), Bytes::from(contents.clone()));
    assert_eq!(call.await.unwrap().unwrap().tensor.raw(), contents);
}

#[tokio::test]
async fn a_lent_tensor_of_another_size_is_an_error() {
    let (outbox, mut inbox, call) = call_for_tensor().await;
    let contents = vec![3; 100_000];
    let address = Address::of(&contents).to_bytes();
    outbox.send(Kind::Lent, 1, &[&address[..], &head(contents.len() + 1)].concat());
    assert_eq!(call.await.unwrap().unwrap_err().code(), Code::Internal);
    let frames = read_until(&mut inbox, &mut [], |frames, _| !frames.is_empty()).await;
    assert_eq!(frames, [(Kind::Returned, Vec::new())]);
}

#[tokio::test]
async fn a_cancelled_call_returns_what_was_lent() {
    let (outbox, mut inbox, call) = call_for_tensor().await;
    drop(call);
    let contents = vec![3; 100_000];
    let address = Address::of(&contents).to_bytes();
    outbox.send(Kind::Lent, 1, &[&address[..], &head(contents.len())].concat());
    let frames = read_until(&mut inbox, &mut [], |frames, _| frames.len() == 2).await;
    assert_eq!(frames, [(Kind::Cancel, Vec::new()), (Kind::Returned, Vec::new())]);
}

#[tokio::test]
async fn a_peer_that_stands_still_is_noticed() {
    let (one, _frozen) = UnixStream::pair().unwrap();
    let silence = Duration::from_millis(60);
    let link = Link::over(Socket::Unix(one), Ends { silence, ..ends() });
    let Err(why) = link.recv_tensor(&pb::RecvTensorRequest::default()).await else {
        panic!("nobody answers");
    };
    assert_eq!(why, Broken::Silent);
    assert!(link.is_broken());
}

#[tokio::test]
async fn a_silent_peer_is_asked_whether_it_is_there() {
    let (one, other) = UnixStream::pair().unwrap();
    let silence = Duration::from_millis(1500);
    let link = Link::over(Socket::Unix(one), Ends { silence, ..ends() });
    let socket = Arc::new(Socket::Unix(other));
    let (mut inbox, outbox) = (Inbox::new(Arc::clone(&socket)), Outbox::new(socket));
    let is_ping = |frame: &(Kind, Vec<u8>)| frame.0 == Kind::Ping;
    read_until(&mut inbox, &mut [], |frames, _| frames.iter().any(is_ping)).await;
    outbox.send(Kind::Ping, 0, &[]);
    let is_pong = |frame: &(Kind, Vec<u8>)| frame.0 == Kind::Pong;
    read_until(&mut inbox, &mut [], |frames, _| frames.iter().any(is_pong)).await;
    assert!(!link.is_broken());
}
