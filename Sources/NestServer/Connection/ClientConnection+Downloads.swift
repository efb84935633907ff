import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestStore
import NestProtocol
import NestFraming

/// FETCH_SUBTREE: the sub-tree is read into a spool file at the store's speed, then sent at the client's.
extension ClientConnection {
    func startDownload(id: UInt32, _ message: FetchSubtree) {
        guard self.mayStartTransfer(id: id) else { return }
        let reservation = SpoolReservation(self.server.spool)
        let download = Download(reservation: reservation)
        self.downloads[id] = download
        guard self.access.confinement != nil else { return self.export(message, id: id, download) }
        // What is outside takes as long to refuse as what never was.
        let scope = self.access.scope
        let connection = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        self.server.engine.ask { engine in
            let refusal = engine.refusal(of: message.request.root, in: scope)
            connection.eventLoop.execute { connection.value.goOn(message, id: id, download, refusal) }
        }
    }

    private func goOn(_ message: FetchSubtree, id: UInt32, _ download: Download, _ refusal: NestError?) {
        guard self.downloads[id] != nil else { return }
        guard let refusal else { return self.export(message, id: id, download) }
        self.failDownload(id: id, refusal)
        self.settle()
    }

    private func export(_ message: FetchSubtree, id: UInt32, _ download: Download) {
        let reservation = download.reservation
        let reader = self.server.reader
        let isCancelled = download.isCancelled
        let isCompressed = self.features.contains(.compression)
        let confinement = self.access.confinement
        let readTransaction = self.server.configuration.timing.readTransaction
        let work = self.server.exports.runIfActive(eventLoop: self.loop.eventLoop) { () throws -> SubtreeExport in
            let export = try reader.exportSubtree(
                message.request,
                atLeast: message.atLeast,
                isCompressed: isCompressed,
                confinement: confinement,
                deadline: ReadDeadline(for: readTransaction, unless: isCancelled)
            )
            try reservation.take(export.chunks.byteCount)
            return export
        }
        work.assumeIsolated().whenComplete { result in
            self.opened(result, id: id)
            self.settle()
        }
    }

    private func opened(_ result: Result<SubtreeExport, any Error>, id: UInt32) {
        guard self.downloads[id] != nil else { return }
        switch result {
        case .success(let export):
            self.downloads[id]?.opened(export)
            let start = SubtreeStart(
                revision: export.revision,
                entity: export.entity,
                rowCount: export.rowCount,
                byteCount: export.chunks.bodyByteCount,
                properties: export.properties
            )
            self.send(start.frame(id: id))
        case .failure(let error):
            self.failDownload(id: id, Self.internalError(error))
        }
    }

    private func failDownload(id: UInt32, _ error: NestError) {
        self.downloads[id] = nil
        self.refuse(id: id, error)
    }

    /// The receiver allows more of a download. A credit for anything else is stale.
    func credit(id: UInt32, bytes: Int) {
        self.downloads[id]?.granted(bytes)
    }

    /// Lets each download take one step at a time, in turn, as long as the socket takes what they send.
    func proceedWithDownloads() {
        guard !self.downloads.isEmpty else { return }
        var isMoving = true
        while isMoving {
            isMoving = false
            for id in self.downloads.keys.sorted() where self.proceed(id: id) { isMoving = true }
        }
    }

    /// Returns whether anything was sent.
    private func proceed(id: UInt32) -> Bool {
        switch self.downloads[id]?.proceed(isWritable: self.isWritable) {
        case nil, .none?:
            return false
        case .read(let chunks, let offset):
            self.readChunk(of: chunks, at: offset, id: id)
            return false
        case .send(let chunk):
            var frame = ByteBuffer()
            frame.reserveCapacity(Frame.headerBytes + chunk.count)
            let isBackup = self.downloads[id]?.content?.kind == .backup
            frame.writeFrame(type: isBackup ? .backupChunk : .subtreeChunk, id: id, body: chunk)
            self.send(frame)
            self.flushIfDue()
            return true
        case .end(let content):
            self.downloads[id] = nil
            switch content.kind {
            case .subtree:
                self.send(SubtreeEnd(rowCount: content.count, checksum: content.checksum).frame(id: id))
            case .backup:
                self.send(BackupEnd(fileBytes: content.count, checksum: content.checksum).frame(id: id))
            }
            return true
        }
    }

    private func readChunk(of chunks: SpooledChunks, at offset: Int, id: UInt32) {
        let work = self.server.files.runIfActive(eventLoop: self.loop.eventLoop) { () throws -> SpooledChunk? in
            do throws(StoreError) {
                guard let (chunk, next) = try chunks.chunk(at: offset) else { return nil }
                return SpooledChunk(bytes: chunk, next: next)
            } catch {
                throw error.nestError
            }
        }
        work.assumeIsolated().whenComplete { result in
            guard self.downloads[id] != nil else { return }
            switch result {
            case .success(let chunk):
                if let chunk, chunk.bytes.count > Limits.frameBytesMax {
                    self.failDownload(id: id, NestError(.valueTooLarge, "an object is larger than a frame"))
                } else {
                    self.downloads[id]?.read(chunk.map { ($0.bytes, $0.next) })
                }
            case .failure(let error):
                self.failDownload(id: id, Self.internalError(error))
            }
            self.settle()
        }
    }
}

extension SpooledChunks {
    /// The bytes of the chunks themselves, without the length in four bytes before each.
    var bodyByteCount: Int { self.byteCount - 4 * self.chunkCount }
}

private struct SpooledChunk: Sendable {
    let bytes: [UInt8]
    let next: Int
}
