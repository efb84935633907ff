import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestFraming

/// FETCH_SUBTREE, GET_VALUE, BACKUP and CHECK. A sub-tree, a value or a backup is read into a spool file at the store's
/// speed, then sent at the client's speed.
extension ClientConnection {
    func startDownload(id: UInt32, _ message: FetchSubtree) {
        guard let download = self.addDownload(id: id) else { return }
        self.whenReached(message.atLeast) { connection, refusal in
            var message = message
            // The store has it now.
            if message.atLeast >= .newest { message.atLeast = Revision(0) }
            if let refusal { return connection.failIfThere(id: id, refusal) }
            connection.check(message.request.root, id: id) { $0.export(message, id: id, download) }
        }
    }

    /// GET_VALUE.
    func startDownload(id: UInt32, _ message: GetValue) {
        guard let download = self.addDownload(id: id) else { return }
        self.whenReached(message.atLeast) { connection, refusal in
            var message = message
            if message.atLeast >= .newest { message.atLeast = Revision(0) }
            if let refusal { return connection.failIfThere(id: id, refusal) }
            connection.check(message.object, id: id) { $0.export(message, id: id, download) }
        }
    }

    /// Calls `body` when the store has a revision, or with a refusal: in a cluster the node may have to wait for it.
    private func whenReached(_ atLeast: Revision, _ body: @escaping (ClientConnection, NestError?) -> Void) {
        guard atLeast > Revision(0) else { return body(self, nil) }
        let connection = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        let body = NIOLoopBound(body, eventLoop: self.loop.eventLoop)
        self.server.engine.ask { engine in
            engine.whenReached(atLeast) { refusal in
                connection.eventLoop.execute { body.value(connection.value, refusal) }
            }
        }
    }

    /// Calls `body` if the client may see an object, or if the read itself checks that.
    private func check(_ object: ObjectID, id: UInt32, _ body: @escaping (ClientConnection) -> Void) {
        guard self.transfers.hasDownload(id) else { return }
        guard self.access.confinement != nil else { return body(self) }
        // The engine checks the token's scope, so that refusing an object outside the scope takes as long as refusing
        // one that does not exist.
        let scope = self.access.scope
        let connection = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        let body = NIOLoopBound(body, eventLoop: self.loop.eventLoop)
        self.server.engine.ask { engine in
            let refusal = engine.refusal(of: object, in: scope)
            connection.eventLoop.execute {
                guard connection.value.transfers.hasDownload(id) else { return }
                guard let refusal else { return body.value(connection.value) }
                connection.value.failIfThere(id: id, refusal)
            }
        }
    }

    private func failIfThere(id: UInt32, _ error: NestError) {
        guard self.transfers.hasDownload(id) else { return }
        self.failDownload(id: id, error)
        self.settle()
    }

    private func export(_ message: GetValue, id: UInt32, _ download: Download) {
        let work = self.server.export(
            message,
            isCompressed: self.session.features.contains(.compression),
            confinement: self.access.confinement,
            for: download,
            on: self.loop.eventLoop
        )
        self.whenDone(work, id: id) { export in
            self.transfers.opened(Download.Content(export), id: id)
            self.send(ValueMessage(export.value, export.type, at: export.revision).frame(id: id))
        }
    }

    private func export(_ message: FetchSubtree, id: UInt32, _ download: Download) {
        let work = self.server.export(
            message,
            isCompressed: self.session.features.contains(.compression),
            confinement: self.access.confinement,
            for: download,
            on: self.loop.eventLoop
        )
        self.whenDone(work, id: id) { export in
            self.transfers.opened(Download.Content(export), id: id)
            self.send(SubtreeStart(export).frame(id: id))
        }
    }

    func startBackup(id: UInt32) {
        guard let download = self.addDownload(id: id) else { return }
        let isCompressed = self.session.features.contains(.compression)
        let work = self.server.backup(isCompressed: isCompressed, for: download, on: self.loop.eventLoop)
        self.whenDone(work, id: id) { backup in
            self.transfers.opened(Download.Content(backup), id: id)
            self.send(BackupStart(backup).frame(id: id))
        }
    }

    func startCheck(id: UInt32) {
        guard let download = self.addDownload(id: id) else { return }
        let eventLoop = self.loop.eventLoop
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let work = self.server.check(for: download, on: eventLoop) { step in
            eventLoop.execute { connection.value.sendProgress(step, id: id) }
        }
        self.whenDone(work, id: id) { report in
            self.transfers.removeDownload(id)
            self.send(Checked(report).frame(id: id))
        }
    }

    private func sendProgress(_ step: CheckStep, id: UInt32) {
        guard self.transfers.hasDownload(id) else { return }
        self.send(CheckProgress(step).frame(id: id))
        self.settle()
    }

    /// Adds a download. Refuses the request and returns `nil` when the connection has its maximum number of transfers.
    private func addDownload(id: UInt32) -> Download? {
        guard self.mayStartTransfer(id: id) else { return nil }
        let download = Download(reservation: SpoolReservation(self.server.spool))
        self.transfers.add(download, id: id)
        return download
    }

    private func failDownload(id: UInt32, _ error: NestError) {
        self.transfers.removeDownload(id)
        self.refuse(id: id, error)
    }

    /// Continues a download when its work is done, or fails it. Does nothing if the download was removed meanwhile.
    private func whenDone<Value>(_ work: EventLoopFuture<Value>, id: UInt32, _ body: @escaping (Value) -> Void) {
        work.assumeIsolated().whenComplete { result in
            guard self.transfers.hasDownload(id) else { return }
            switch result {
            case .success(let value): body(value)
            case .failure(let error): self.failDownload(id: id, Self.transferError(error))
            }
            self.settle()
        }
    }

    // MARK: Sending

    /// Advances each download by one step at a time, in turn, until the socket is full.
    func proceedWithDownloads() {
        guard self.transfers.hasDownloads else { return }
        var isMoving = true
        while isMoving {
            isMoving = false
            for id in self.transfers.downloadIDs where self.proceed(id: id) { isMoving = true }
        }
    }

    /// Returns whether anything was sent.
    private func proceed(id: UInt32) -> Bool {
        switch self.transfers.proceed(id, isWritable: self.isWritable) {
        case .none:
            return false
        case .read(let chunks, let offset):
            self.whenDone(self.server.readChunk(of: chunks, at: offset, on: self.loop.eventLoop), id: id) { chunk in
                if let chunk, chunk.bytes.count > Limits.frameBytesMax {
                    self.failDownload(id: id, NestError(.valueTooLarge, "an object is larger than a frame"))
                } else {
                    self.transfers.read(chunk, id: id)
                }
            }
            return false
        case .send(let chunk, let content):
            self.send(content.chunkFrame(chunk, id: id))
            self.flushIfDue()
            return true
        case .end(let content):
            self.send(content.endFrame(id: id))
            return true
        }
    }
}
