import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// The blocking parts of transfers. They run on other threads, while commits continue.
extension ServerContext {
    /// Writes a sub-tree to a spool file.
    func export(
        _ message: FetchSubtree,
        isCompressed: Bool,
        confinement: AccessConfinement?,
        for download: Download,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<SubtreeExport> {
        let reservation = download.reservation
        return self.read(for: download, on: eventLoop) { reader, deadline in
            let export = try reader.exportSubtree(
                message.request,
                atLeast: message.atLeast,
                isCompressed: isCompressed,
                confinement: confinement,
                deadline: deadline
            )
            try reservation.take(export.chunks.byteCount)
            return export
        }
    }

    /// Writes a large value to a spool file.
    func export(
        _ message: GetValue,
        isCompressed: Bool,
        confinement: AccessConfinement?,
        for download: Download,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<ValueExport> {
        let reservation = download.reservation
        return self.read(for: download, on: eventLoop) { reader, deadline in
            let export = try reader.exportValue(
                of: message.object,
                message.property,
                from: message.offset,
                atLeast: message.atLeast,
                isCompressed: isCompressed,
                confinement: confinement,
                deadline: deadline
            )
            try reservation.take(export.chunks.byteCount)
            return export
        }
    }

    /// Writes a copy of the whole store to a spool file.
    func backup(
        isCompressed: Bool,
        for download: Download,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<StoreBackup> {
        let reservation = download.reservation
        let bytesLeftMin = self.configuration.diskFreeBytesMin
        return self.read(for: download, on: eventLoop) { reader, deadline in
            let backup = try reader.backup(isCompressed: isCompressed, bytesLeftMin: bytesLeftMin, deadline: deadline) {
                offset,
                packed in
                BackupChunk(offset: offset, packed: packed).body
            }
            try reservation.take(backup.chunks.byteCount)
            return backup
        }
    }

    /// Checks the whole store. Calls `progress` on the thread of the check.
    func check(
        for download: Download,
        on eventLoop: any EventLoop,
        progress: @escaping @Sendable (CheckStep) -> Void
    ) -> EventLoopFuture<CheckReport> {
        self.read(for: download, on: eventLoop) { reader, deadline in
            try reader.check(deadline: deadline, progress: progress)
        }
    }

    private func read<Value: Sendable>(
        for download: Download,
        on eventLoop: any EventLoop,
        _ work: @escaping @Sendable (StoreReader, ReadDeadline) throws -> Value
    ) -> EventLoopFuture<Value> {
        let reader = self.engine.model.reader
        let isCancelled = download.isCancelled
        let time = self.configuration.timing.readTransaction
        let engine = self.engine
        let durable = eventLoop.makePromise(of: Value.self)
        // A failure may show a commit, too: that an object is not there.
        self.exports.runIfActive(eventLoop: eventLoop) {
            try work(reader, ReadDeadline(for: time, unless: isCancelled))
        }.whenComplete { result in
            engine.whenDurable { durable.completeWith($0.map { .failure($0.nestError) } ?? result) }
        }
        return durable.futureResult
    }

    /// Reads a chunk of a spool file; `nil` when there is none at the offset.
    func readChunk(
        of chunks: SpooledChunks,
        at offset: Int,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<SpooledChunk?> {
        self.files.runIfActive(eventLoop: eventLoop) { () throws -> SpooledChunk? in
            do throws(StoreError) {
                guard let (chunk, next) = try chunks.chunk(at: offset) else { return nil }
                return SpooledChunk(bytes: chunk, next: next)
            } catch {
                throw error.nestError
            }
        }
    }

    func uploadStage(for request: SubtreeImport, rowsMax: Int) -> UploadStage {
        UploadStage(
            request,
            directory: self.engine.model.reader.spoolDirectory,
            reservation: SpoolReservation(self.spool),
            rowsMax: rowsMax
        )
    }

    func uploadStage(for request: PutValue) -> UploadStage {
        UploadStage(
            request,
            directory: self.engine.model.reader.spoolDirectory,
            reservation: SpoolReservation(self.spool)
        )
    }

    /// Checks chunks of an upload and appends them to its stage.
    func append(
        _ bodies: [[UInt8]],
        to stage: UploadStage,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<UploadStage> {
        self.files.runIfActive(eventLoop: eventLoop) {
            var stage = stage
            try stage.append(bodies)
            return stage
        }
    }
}
