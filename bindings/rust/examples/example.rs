//! Puts arrays through two nodes, and gets them and their sum. usage: example SOCKET SOCKET
use hoplite::{seconds, Client, Id, PutOptions};
use std::time::Duration;

fn floats(value: f32) -> Vec<u8> {
    (0..100_000).flat_map(|_| value.to_le_bytes()).collect()
}

fn main() -> hoplite::Result<()> {
    let sockets: Vec<String> = std::env::args().skip(1).collect();
    let soon = seconds(20);
    let (a, b) = (Client::connect(&sockets[0], soon)?, Client::connect(&sockets[1], soon)?);
    let options = PutOptions { metadata: b"about".to_vec(), dtype: "float32".into(), ..Default::default() };
    let one = a.put(&floats(1.0), &options)?;
    let (two, mut draft) = b.create(400_000, &options)?;
    draft.copy_from_slice(&floats(2.0));
    draft.seal(soon)?;
    let got = b.get(one, soon)?;
    assert_eq!(*got, floats(1.0));
    assert_eq!(got.metadata(), b"about");
    let (sum, reduction) = a.reduce("sum", &[one, two], false, soon)?;
    let waiting = b.get_async(sum, soon)?;
    reduction.wait(soon)?;
    waiting.wait(soon)?;
    assert_eq!(*waiting.buffer()?, floats(3.0));
    let mut into = vec![0; 400_000];
    assert_eq!(a.get_into(sum, &mut into, soon)?, into.len());
    assert_eq!(into, floats(3.0));
    a.delete(&[one, two, sum], soon)?;
    assert_eq!(a.get(one, soon).err().unwrap().name, "deleted");
    let never = a.get_async(Id::random(), hoplite::FOREVER)?;
    assert_eq!(never.wait(Some(Duration::ZERO)).err().unwrap().name, "timeout");
    assert!(!never.is_ready());
    never.cancel();
    assert_eq!(never.wait(soon).err().unwrap().name, "cancelled");
    assert!(!a.why(Id::from_name("missing")?, soon)?.is_empty());
    a.close();
    println!("all is well");
    Ok(())
}
