import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestStore
import NestProtocol
import NestFraming

/// BACKUP and CHECK: a thread that may block goes through the whole store; commits go on. Both are transfers, counted and
/// cancelled as such.
extension ClientConnection {
    func startBackup(id: UInt32) {
        guard self.mayStartTransfer(id: id) else { return }
        let reservation = SpoolReservation(self.server.spool)
        let download = Download(reservation: reservation)
        self.downloads[id] = download
        let reader = self.server.reader
        let isCancelled = download.isCancelled
        let isCompressed = self.features.contains(.compression)
        let bytesLeftMin = self.server.configuration.diskFreeBytesMin
        let readTransaction = self.server.configuration.timing.readTransaction
        let work = self.server.exports.runIfActive(eventLoop: self.loop.eventLoop) { () throws -> StoreBackup in
            let backup = try reader.backup(
                isCompressed: isCompressed,
                bytesLeftMin: bytesLeftMin,
                deadline: ReadDeadline(for: readTransaction, unless: isCancelled)
            ) { offset, packed in BackupChunk(offset: offset, packed: packed).body }
            try reservation.take(backup.chunks.byteCount)
            return backup
        }
        work.assumeIsolated().whenComplete { result in
            self.opened(result, id: id)
            self.settle()
        }
    }

    private func opened(_ result: Result<StoreBackup, any Error>, id: UInt32) {
        guard self.downloads[id] != nil else { return }
        switch result {
        case .success(let backup):
            self.downloads[id]?.opened(backup)
            let start = BackupStart(
                revision: backup.revision,
                historyID: backup.historyID,
                fileBytes: backup.fileBytes,
                byteCount: backup.chunks.bodyByteCount
            )
            self.send(start.frame(id: id))
        case .failure(let error):
            self.downloads[id] = nil
            self.refuse(id: id, Self.internalError(error))
        }
    }

    func startCheck(id: UInt32) {
        guard self.mayStartTransfer(id: id) else { return }
        // Nothing is ever read of it: it holds the place and is cancelled like one.
        let download = Download(reservation: SpoolReservation(self.server.spool))
        self.downloads[id] = download
        let reader = self.server.reader
        let isCancelled = download.isCancelled
        let readTransaction = self.server.configuration.timing.readTransaction
        let eventLoop = self.loop.eventLoop
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let work = self.server.exports.runIfActive(eventLoop: eventLoop) { () throws -> CheckReport in
            try reader.check(deadline: ReadDeadline(for: readTransaction, unless: isCancelled)) { step in
                eventLoop.execute { connection.value.tell(step, id: id) }
            }
        }
        work.assumeIsolated().whenComplete { result in
            guard self.downloads[id] != nil else { return }
            self.downloads[id] = nil
            switch result {
            case .success(let report): self.send(Checked(report).frame(id: id))
            case .failure(let error): self.refuse(id: id, Self.internalError(error))
            }
            self.settle()
        }
    }

    private func tell(_ step: CheckStep, id: UInt32) {
        guard self.downloads[id] != nil else { return }
        self.send(CheckProgress(step).frame(id: id))
        self.settle()
    }
}
