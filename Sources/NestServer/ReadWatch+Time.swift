import NIOConcurrencyHelpers
import NIOCore
import NestStore

extension ReadWatch {
    /// From now on for so long, unless it is cancelled before. Make it where the reading begins: who waits for a thread keeps
    /// nothing from the store.
    init(for time: TimeAmount, unless isCancelled: NIOLockedValueBox<Bool> = NIOLockedValueBox(false)) {
        let end = NIODeadline.now() + time
        self.init(isCancelled: { isCancelled.withLockedValue { $0 } }, isLate: { NIODeadline.now() >= end })
    }
}
