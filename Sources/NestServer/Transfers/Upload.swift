import NestModel
import NestStore
import NestProtocol

/// Decides the next step of one IMPORT_SUBTREE or PUT_VALUE.
///
///     receiving ──end, all staged──▶ committing ──the engine's reply──▶ (removed)
///         any ──failure, CANCEL──▶ (removed)
package struct Upload: Sendable {
    package enum Action {
        case none
        /// Have a thread that may block append these to the stage, then call `staged`.
        case stage(UploadStage, [[UInt8]])
        /// Everything has arrived and is correct.
        case commit(StagedSubtree)
        /// The same for a large value.
        case put(StagedValue)
        case fail(NestError)
        /// The client broke the protocol after the end of the stream, when the upload may already be committed: close
        /// the connection, because a request has only one reply.
        case close(NestError)
    }

    private enum Request {
        case subtree(SubtreeImport)
        case value(PutValue)
    }

    private let request: Request
    /// Bytes received that are not in the spool file yet.
    package private(set) var heldBytes = 0
    /// `nil` while a thread appends to it.
    private var stage: UploadStage?
    private var waiting: [[UInt8]] = []
    /// Bytes that the client may still send.
    private var credit = Limits.creditBytesInitial
    private var end: SubtreeEnd?
    /// Whether the engine has the upload, so that the client can no longer cancel it.
    package private(set) var isCommitting = false

    package init(_ request: SubtreeImport, stage: UploadStage) {
        self.request = .subtree(request)
        self.stage = stage
    }

    package init(_ request: PutValue, stage: UploadStage) {
        self.request = .value(request)
        self.stage = stage
    }

    package mutating func received(chunk: [UInt8]) -> Action {
        guard self.end == nil else { return .close(NestError(.protocolViolation, "a chunk after the stream's end")) }
        guard chunk.count <= self.credit else {
            let text = "a chunk has \(chunk.count) bytes, but only \(self.credit) bytes of credit are left"
            return .fail(NestError(.flowControl, text))
        }
        self.credit -= chunk.count
        self.heldBytes += chunk.count
        self.waiting.append(chunk)
        return self.next()
    }

    package mutating func received(_ end: SubtreeEnd) -> Action {
        guard self.end == nil else { return .close(NestError(.protocolViolation, "the stream ends twice")) }
        self.end = end
        return self.next()
    }

    /// Takes the stage back after `byteCount` bytes were appended. The client may send as many bytes again.
    package mutating func staged(_ stage: UploadStage, byteCount: Int) -> Action {
        self.stage = stage
        self.credit += byteCount
        self.heldBytes -= byteCount
        return self.next()
    }

    private mutating func next() -> Action {
        guard let stage = self.stage else { return .none }
        guard self.waiting.isEmpty else {
            defer { self.waiting = [] }
            self.stage = nil
            return .stage(stage, self.waiting)
        }
        guard let end = self.end else { return .none }
        do throws(NestError) {
            let action: Action =
                switch self.request {
                case .subtree(let request):
                    .commit(try stage.finish(request, rowCount: end.rowCount, checksum: end.checksum))
                case .value(let request):
                    .put(try stage.finish(request, length: end.rowCount, checksum: end.checksum))
                }
            self.stage = nil
            self.isCommitting = true
            return action
        } catch {
            return .fail(error)
        }
    }
}
