import NestModel
import NestStore
import NestProtocol

/// Decides how one IMPORT_SUBTREE goes on.
///
///     receiving ──end, all staged──▶ committing ──the engine's reply──▶ (gone)
///         any ──anything wrong, CANCEL──▶ (gone)
package struct Upload: Sendable {
    package enum Action {
        case none
        /// Have a thread that may block append these to the stage, and come back with `staged`.
        case stage(UploadStage, [[UInt8]])
        /// Everything has arrived and is correct.
        case commit(StagedSubtree)
        case fail(NestError)
    }

    package let request: SubtreeImport
    /// Bytes received that are not in the spool file yet.
    package private(set) var heldBytes = 0
    /// `nil` while a thread appends to it.
    private var stage: UploadStage?
    private var waiting: [[UInt8]] = []
    /// Bytes that the client may still send.
    private var credit = Limits.creditBytesInitial
    private var end: SubtreeEnd?
    /// The engine has it: the client can no longer cancel it.
    package private(set) var isCommitting = false

    package init(_ request: SubtreeImport, stage: UploadStage) {
        self.request = request
        self.stage = stage
    }

    package mutating func received(chunk: [UInt8]) -> Action {
        guard self.end == nil else { return .fail(NestError(.protocolViolation, "a chunk after the stream's end")) }
        guard chunk.count <= self.credit else {
            return .fail(NestError(.flowControl, "a chunk of \(chunk.count) bytes; \(self.credit) are granted"))
        }
        self.credit -= chunk.count
        self.heldBytes += chunk.count
        self.waiting.append(chunk)
        return self.next()
    }

    package mutating func received(_ end: SubtreeEnd) -> Action {
        guard self.end == nil else { return .fail(NestError(.protocolViolation, "the stream ends twice")) }
        self.end = end
        return self.next()
    }

    /// The stage is back after `byteCount` bytes were appended: the client may send as many again.
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
            let staged = try stage.finish(self.request, rowCount: end.rowCount, checksum: end.checksum)
            self.stage = nil
            self.isCommitting = true
            return .commit(staged)
        } catch {
            return .fail(error)
        }
    }
}
