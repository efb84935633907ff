import DequeModule
import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// The events of a transfer, from the connection: chunks of a download, credit for an upload, and the end.
///
/// Bounded by credit: a server that sends more chunk bytes than the client has granted violates the protocol.
final class TransferStream: Sendable {
    private struct Contents {
        var start: SubtreeStart?
        var backup: BackupStart?
        var value: ValueMessage?
        var chunks: Deque<[UInt8]> = []
        var steps: Deque<CheckStep> = []
        var report: CheckReport?
        var end: SubtreeEnd?
        var failure: NestError?
        /// The number of bytes that the other side may still send in a download, or this side in an upload.
        var credit: Int
        /// Counts events, so that none is missed between a check and the wait after it.
        var version: UInt64 = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let contents: NIOLockedValueBox<Contents>

    /// `credit`: the bytes that a download may send before it is granted more; 0 for an upload, whose credit the server
    /// grants.
    init(credit: Int) {
        self.contents = NIOLockedValueBox(Contents(credit: credit))
    }

    func received(_ event: StreamEvent) {
        self.update { contents in
            switch event {
            case .start(let start): contents.start = start
            case .chunk(let bytes):
                contents.credit -= bytes.count
                if contents.credit < 0 {
                    contents.failure = NestError(.flowControl, "the server sent more than it was granted")
                } else {
                    contents.chunks.append(bytes)
                }
            case .end(let end): contents.end = end
            case .backup(let start): contents.backup = start
            case .value(let value): contents.value = value
            case .step(let step): contents.steps.append(step)
            case .checked(let report): contents.report = report
            case .credit(let bytes): contents.credit = min(contents.credit + bytes, Limits.creditBytesMax)
            }
        }
    }

    func failed(_ error: NestError) {
        self.update { contents in
            if contents.failure == nil { contents.failure = error }
        }
    }

    /// Records that the receiver of a download has granted more bytes.
    func granted(_ byteCount: Int) {
        self.update { $0.credit += byteCount }
    }

    func start() async throws(NestError) -> SubtreeStart {
        try await self.take { $0.start }
    }

    func backupStart() async throws(NestError) -> BackupStart {
        try await self.take { $0.backup }
    }

    func valueStart() async throws(NestError) -> ValueMessage {
        try await self.take { $0.value }
    }

    enum CheckEvent: Sendable {
        case step(CheckStep)
        case report(CheckReport)
    }

    func nextOfCheck() async throws(NestError) -> CheckEvent {
        try await self.take { contents -> CheckEvent? in
            contents.steps.popFirst().map { .step($0) } ?? contents.report.map { .report($0) }
        }
    }

    enum Piece: Sendable {
        case chunk([UInt8])
        case end(SubtreeEnd)
    }

    func nextPiece() async throws(NestError) -> Piece {
        try await self.take { contents -> Piece? in
            contents.chunks.popFirst().map { .chunk($0) } ?? contents.end.map { .end($0) }
        }
    }

    /// Waits until `byteCount` bytes may be sent, and counts them as sent.
    func spend(_ byteCount: Int) async throws(NestError) {
        try await self.take { contents -> Void? in
            guard contents.failure == nil, contents.credit >= byteCount else { return nil }
            contents.credit -= byteCount
            return ()
        }
    }

    /// Waits for the end of the transfer, and returns why it ended.
    func failure() async -> NestError {
        do throws(NestError) {
            return try await self.take { $0.failure }
        } catch {
            return error
        }
    }

    private func update(_ body: (inout Contents) -> Void) {
        self.contents.withLockedValue { contents in
            body(&contents)
            contents.version += 1
            contents.waiter?.resume()
            contents.waiter = nil
        }
    }

    private enum Look<Value: Sendable>: Sendable {
        case done(Result<Value, NestError>)
        case wait(version: UInt64)
    }

    private func take<Value: Sendable>(_ body: (inout Contents) -> Value?) async throws(NestError) -> Value {
        while true {
            let look = self.contents.withLockedValue { contents -> Look<Value> in
                if let value = body(&contents) { return .done(.success(value)) }
                if let failure = contents.failure { return .done(.failure(failure)) }
                return .wait(version: contents.version)
            }
            switch look {
            case .done(let result): return try result.get()
            case .wait(let version):
                if Task.isCancelled { throw NestError(.cancelled, "cancelled during the transfer") }
                await self.wait(since: version)
            }
        }
    }

    /// Waits until an event has happened since `version`.
    private func wait(since version: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.contents.withLockedValue { contents in
                    if contents.version != version || Task.isCancelled {
                        continuation.resume()
                    } else {
                        precondition(contents.waiter == nil, "a transfer is used by one task")
                        contents.waiter = continuation
                    }
                }
            }
        } onCancel: {
            self.update { _ in }
        }
    }
}
