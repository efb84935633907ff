import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestProtocol

/// The bytes of answers that are being made, or are made and not yet with the connections that they are for. Counted by
/// any thread, in one account for the whole server.
package final class AnswerMemory: Sendable {
    private let held: NIOLockedValueBox<Int>
    package let bytesMax: Int

    package init(bytesMax: Int = Limits.memoryBytesMax / 4) {
        self.bytesMax = bytesMax
        self.held = NIOLockedValueBox(0)
    }

    package var byteCount: Int { self.held.withLockedValue { $0 } }

    /// Room for answers that are begun now. Those under way may need the rest.
    var hasRoom: Bool { self.byteCount < self.bytesMax / 2 }

    /// A part of the account, which is given back when nobody holds it any more.
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

/// What one answer, or the answers of one batch, take.
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

    /// Takes more for an answer that is being made; refuses it when it alone, or all together, are too much.
    func grow(by bytes: Int) throws(StoreError) {
        let own = self.held.withLockedValue { held in
            held += bytes
            return held
        }
        let all = self.memory.add(bytes)
        guard own <= Limits.answerBytesMax else {
            throw StoreError.refused(
                .limitExceeded,
                "the answer has over \(Limits.answerBytesMax) bytes: ask for a window of it, or for a sub-tree"
            )
        }
        guard all <= self.memory.bytesMax else {
            throw StoreError.refused(.busy, "the server's answers take as much memory as they may: try again later")
        }
    }
}
