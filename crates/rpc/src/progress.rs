//! Whether the threads that compute make progress: a task whose threads are all held by kernels that do
//! not end is alive, but of no use to anybody, and says so to those who ask whether it is ready.
//!
//! A job that does nothing is put in line with those of steps, again and again. As long as it is run, a
//! step that comes now is.

use std::sync::Weak;
use std::time::{Duration, Instant};

use tensorfleet_cluster::Task;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::activity::Activity;

/// Watches the threads of a task for as long as there is one. They make no progress when a job has waited
/// for `limit`.
pub(crate) async fn watch(task: Weak<Task>, activity: Weak<Activity>, limit: Duration) {
    loop {
        let Some(waiting) = task.upgrade().map(|task| probe(&task)) else { return };
        let mut waiting = waiting;
        let begun = Instant::now();
        match timeout(limit, &mut waiting).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                let (Some(held), Some(told)) = (task.upgrade(), activity.upgrade()) else { return };
                told.set_stalled(true, told_of(&held, limit));
                drop((held, told));
                if waiting.await.is_err() {
                    return;
                }
                let Some(activity) = activity.upgrade() else { return };
                let taken = begun.elapsed();
                activity.set_stalled(false, format!("threads compute again, after {taken:.1?}"));
            }
        }
        tokio::time::sleep(limit / 4).await;
    }
}

fn probe(task: &Task) -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    // Nobody waits for it if the task has ended.
    task.pool.spawn(move || {
        let _ = sender.send(());
    });
    receiver
}

/// One line for what holds the threads.
fn told_of(task: &Task, limit: Duration) -> String {
    let steps = task.steps.look();
    let computing = steps.iter().filter(|step| step.look.is_computing);
    let computing: Vec<String> = computing
        .take(3)
        .map(|step| {
            let whose = step.session.as_deref().unwrap_or("no session");
            format!("step {} of {whose} for {:.1?}", step.id.0, step.since.elapsed())
        })
        .collect();
    let who = if computing.is_empty() { "no step".to_owned() } else { computing.join(", ") };
    format!(
        "no thread of {} has become free for {limit:?}, and {} jobs wait; computing: {who}",
        task.pool.threads(),
        task.pool.waiting(),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use tensorfleet_cluster::RealWorld;
    use tensorfleet_framework::Registry;
    use tensorfleet_runtime::ComputePool;
    use tokio::runtime::Handle;

    use super::*;

    #[tokio::test]
    async fn a_task_is_unready_while_its_threads_are_held() {
        let pool = Arc::new(ComputePool::new(1).unwrap());
        let world = Arc::new(RealWorld(Handle::current()));
        let registry = Arc::new(Registry::new([]).unwrap());
        let task = Arc::new(Task::new("worker", 0, 1, registry, Arc::clone(&pool), world));
        let activity = Activity::new("worker".to_owned(), None, Arc::clone(&task.events));
        let activity = Arc::new(activity);
        let mut unready = activity.unready.subscribe();
        let (release, held) = mpsc::channel::<()>();
        pool.spawn(move || {
            let _ = held.recv();
        });
        let (task_alone, activity_alone) = (Arc::downgrade(&task), Arc::downgrade(&activity));
        tokio::spawn(watch(task_alone, activity_alone, Duration::from_millis(20)));
        unready.wait_for(|unready| *unready).await.unwrap();
        assert!(activity.is_stalled());
        drop(release);
        unready.wait_for(|unready| !*unready).await.unwrap();
        assert!(!activity.is_stalled());
        let events = task.events.latest();
        assert!(events[0].text.contains("no thread of 1 has become free"), "{events:?}");
        assert!(events[1].text.contains("threads compute again"), "{events:?}");
        // A task that drains does not become ready by computing.
        activity.drain();
        activity.set_stalled(false, String::new());
        assert!(*unready.borrow());
    }
}
