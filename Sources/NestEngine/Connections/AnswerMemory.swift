import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestProtocol

/// Counts the bytes of answers that are being made, or are made and not yet with their connections. One counter for the
/// whole server; any thread may use it.
package final class AnswerMemory: Sendable {
    private let held: NIOLockedValueBox<Int>
    package let bytesMax: Int

    package init(bytesMax: Int = Limits.memoryBytesMax / 4) {
        self.bytesMax = bytesMax
        self.held = NIOLockedValueBox(0)
    }

    package var byteCount: Int { self.held.withLockedValue { $0 } }

    /// Whether new answers may begin. The other half of the memory is left for answers that are being made.
    var hasRoom: Bool { self.byteCount < self.bytesMax / 2 }

    /// Returns a share of the memory. It is given back when the last reference to it ends.
    package func share(_ bytes: Int = 0) -> AnswerShare {
        let share = AnswerShare(self)
        share.add(bytes)
        return share
    }

    fileprivate func add(_ bytes: Int) -> Int {
        self.held.withLockedValue { held in
            held += bytes
            return held
        }
    }
}

/// The memory of one answer, or of the answers of one batch.
package final class AnswerShare: Sendable {
    private let memory: AnswerMemory
    private let held = NIOLockedValueBox(0)

    fileprivate init(_ memory: AnswerMemory) {
        self.memory = memory
    }

    deinit {
        _ = self.memory.add(-self.held.withLockedValue { $0 })
    }

    fileprivate func add(_ bytes: Int) {
        self.held.withLockedValue { $0 += bytes }
        _ = self.memory.add(bytes)
    }

    /// Takes more memory for an answer that is being made. Refuses the answer if it is too large alone, or if all
    /// answers together are.
    func grow(by bytes: Int) throws(StoreError) {
        let own = self.held.withLockedValue { held in
            held += bytes
            return held
        }
        let all = self.memory.add(bytes)
        guard own <= Limits.answerBytesMax else {
            throw StoreError.refused(
                .limitExceeded,
                "the answer has over \(Limits.answerBytesMax) bytes: request a window of it, or a sub-tree"
            )
        }
        guard all <= self.memory.bytesMax else {
            throw StoreError.refused(.busy, "the server's memory for answers is used up: try again later")
        }
    }
}
