import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// IMPORT_SUBTREE and PUT_VALUE: another thread checks and spools the chunks, which then become one request to the
/// engine.
extension ClientConnection {
    /// `access`: of the client. Returns whether the chunks are expected now; otherwise the request is refused.
    func startUpload(id: UInt32, _ request: SubtreeImport, access: Access) -> Bool {
        guard self.mayStartTransfer(id: id) else { return false }
        let stage = self.server.uploadStage(for: request, rowsMax: self.importRowsMax(access))
        self.transfers.add(Upload(request, stage: stage), id: id)
        return true
    }

    /// PUT_VALUE. Refuses a value that is too large before it is sent. Returns whether the chunks are expected now.
    func startUpload(id: UInt32, _ request: PutValue) -> Bool {
        let bytesMax = self.server.configuration.largeValueBytesMax
        guard request.length <= bytesMax else {
            let text = "the value has \(request.length) bytes; this server accepts at most \(bytesMax)"
            self.refuse(id: id, NestError(.valueTooLarge, text))
            return false
        }
        guard self.mayStartTransfer(id: id) else { return false }
        let stage = self.server.uploadStage(for: request)
        self.transfers.add(Upload(request, stage: stage), id: id)
        return true
    }

    /// The maximum number of rows of an import: each row takes at least one step.
    private func importRowsMax(_ access: Access) -> Int {
        let configuration = self.server.configuration
        let steps = access.confinement == nil ? configuration.writeStepsMax : configuration.confinedWriteStepsMax
        return min(Limits.importRowsMax, steps)
    }

    /// Returns whether the connection may have one more transfer. Refuses the request if not.
    func mayStartTransfer(id: UInt32) -> Bool {
        do throws(NestError) {
            try self.transfers.checkRoom(max: self.access.transfersMax)
            return true
        } catch {
            self.refuse(id: id, error)
            return false
        }
    }

    func received(chunk: [UInt8], id: UInt32) { self.perform(self.transfers.received(chunk: chunk, id: id), id: id) }

    func received(_ end: SubtreeEnd, id: UInt32) { self.perform(self.transfers.received(end, id: id), id: id) }

    private func perform(_ action: Upload.Action, id: UInt32) {
        switch action {
        case .none:
            break
        case .stage(let stage, let bodies):
            self.stage(bodies, in: stage, id: id)
        case .commit(let staged):
            if let origin = self.peer?.ports.endImport(id) {
                self.submit(.importSubtree(staged), from: origin, id: id)
            } else {
                self.submit(.importSubtree(staged), id: id)
            }
        case .put(let staged):
            if let origin = self.peer?.ports.endImport(id) {
                self.submit(.putValue(staged), from: origin, id: id)
            } else {
                self.submit(.putValue(staged), id: id)
            }
        case .fail(let error):
            self.endImport(id: id)
            self.refuse(id: id, error)
        case .close(let error):
            self.fail(error)
        }
    }

    private func stage(_ bodies: [[UInt8]], in stage: UploadStage, id: UInt32) {
        let byteCount = bodies.reduce(0) { $0 + $1.count }
        let work = self.server.append(bodies, to: stage, on: self.loop.eventLoop)
        work.assumeIsolated().whenComplete { result in
            let staged = result.mapError { Self.transferError($0) }
            guard let action = self.transfers.staged(staged, byteCount: byteCount, id: id) else { return }
            if case .success = staged { self.send(Credit(bytes: byteCount).frame(id: id)) }
            self.perform(action, id: id)
            self.settle()
        }
    }

    static func transferError(_ error: any Error) -> NestError {
        error as? NestError ?? NestError(.internalError, "\(error)")
    }

    /// CANCEL: ends a transfer. It does not affect other requests.
    func cancelTransfer(id: UInt32) {
        guard self.transfers.cancel(id) else { return }
        self.endImport(id: id)
        self.refuse(id: id, NestError(.cancelled, "cancelled"))
    }
}
