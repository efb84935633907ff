import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore
import NestProtocol
import NestFraming

/// IMPORT_SUBTREE: chunks are checked and spooled off the event loop, then become one request to the engine.
extension ClientConnection {
    func startUpload(id: UInt32, _ request: SubtreeImport) {
        guard self.mayStartTransfer(id: id) else { return }
        let stage = UploadStage(
            request,
            directory: self.server.reader.spoolDirectory,
            reservation: SpoolReservation(self.server.spool),
            rowsMax: self.importRowsMax
        )
        self.uploads[id] = Upload(request, stage: stage)
    }

    /// Each row takes a step at least.
    private var importRowsMax: Int {
        let configuration = self.server.configuration
        let steps =
            self.access.confinement == nil ? configuration.writeStepsMax : configuration.confinedWriteStepsMax
        return min(Limits.importRowsMax, steps)
    }

    /// Whether the connection has room for one more transfer; refuses the request if not.
    func mayStartTransfer(id: UInt32) -> Bool {
        guard self.uploads.count + self.downloads.count < Limits.transfersPerConnectionMax else {
            let text = "at most \(Limits.transfersPerConnectionMax) transfers at a time on one connection"
            self.refuse(id: id, NestError(.limitExceeded, text))
            return false
        }
        return true
    }

    // An upload that is gone was refused or cancelled: what the client had already sent of it is skipped.

    func received(chunk: [UInt8], id: UInt32) {
        guard let action = self.uploads[id]?.received(chunk: chunk) else { return }
        self.perform(action, id: id)
    }

    func received(_ end: SubtreeEnd, id: UInt32) {
        guard let action = self.uploads[id]?.received(end) else { return }
        self.perform(action, id: id)
    }

    private func perform(_ action: Upload.Action, id: UInt32) {
        switch action {
        case .none:
            break
        case .stage(let stage, let bodies):
            self.stage(bodies, in: stage, id: id)
        case .commit(let staged):
            self.submit(.importSubtree(staged), id: id)
        case .fail(let error):
            self.uploads[id] = nil
            self.refuse(id: id, error)
        }
    }

    private func stage(_ bodies: [[UInt8]], in stage: UploadStage, id: UInt32) {
        let work = self.server.files.runIfActive(eventLoop: self.loop.eventLoop) {
            () -> Result<UploadStage, NestError> in
            var stage = stage
            do throws(NestError) {
                try stage.append(bodies)
                return .success(stage)
            } catch {
                return .failure(error)
            }
        }
        let byteCount = bodies.reduce(0) { $0 + $1.count }
        work.assumeIsolated().whenComplete { result in
            self.staged(
                result.flatMapError { .success(.failure(Self.internalError($0))) },
                byteCount: byteCount,
                id: id
            )
            self.settle()
        }
    }

    private func staged(_ result: Result<Result<UploadStage, NestError>, any Error>, byteCount: Int, id: UInt32) {
        guard self.uploads[id] != nil, case .success(let result) = result else { return }
        switch result {
        case .success(let stage):
            guard let action = self.uploads[id]?.staged(stage, byteCount: byteCount) else { return }
            self.send(Credit(bytes: byteCount).frame(id: id))
            self.perform(action, id: id)
        case .failure(let error):
            self.perform(.fail(error), id: id)
        }
    }

    static func internalError(_ error: any Error) -> NestError {
        error as? NestError ?? NestError(.internalError, "\(error)")
    }

    /// CANCEL: ends a transfer. Other requests are answered as if it had not come.
    func cancelTransfer(id: UInt32) {
        if let download = self.downloads.removeValue(forKey: id) {
            download.isCancelled.withLockedValue { $0 = true }
        } else if let upload = self.uploads[id], !upload.isCommitting {
            self.uploads[id] = nil
        } else {
            return
        }
        self.refuse(id: id, NestError(.cancelled, "cancelled"))
    }
}
