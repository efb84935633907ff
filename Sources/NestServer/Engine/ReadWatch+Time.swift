import NIOConcurrencyHelpers
import NIOCore
import NestStore

<<<<<<< HEAD
extension ReadDeadline {
    /// From now on for so long, unless it is cancelled before. Make it where the reading begins: who waits for a thread keeps
    /// nothing from the store.
=======
extension ReadWatch {
    /// A read deadline after `time` from now, unless the read is cancelled before. Make it where the read begins: time
    /// spent waiting for a thread does not count.
>>>>>>> w-server
    init(for time: TimeAmount, unless isCancelled: @escaping @Sendable () -> Bool) {
        let end = NIODeadline.now() + time
        self.init(isCancelled: isCancelled, isLate: { NIODeadline.now() >= end })
    }

    init(for time: TimeAmount, unless isCancelled: NIOLockedValueBox<Bool>) {
        self.init(for: time) { isCancelled.withLockedValue { $0 } }
    }
}
