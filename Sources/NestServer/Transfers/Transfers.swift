import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// The uploads and downloads of one connection, by the ids of their requests. CHECK counts as a download without
/// content.
///
/// A transfer that is no longer here was refused or cancelled: frames that still arrive for it, and work that other
/// threads still do for it, are ignored. `SessionStateMachine` refuses an id that was used before, also after CANCEL:
/// so nothing of an old transfer becomes a part of a new one.
package struct Transfers: Sendable {
    private var uploads: [UInt32: Upload] = [:]
    private var downloads: [UInt32: Download] = [:]

    package init() {}

    package var isEmpty: Bool { self.uploads.isEmpty && self.downloads.isEmpty }

    /// Received bytes of uploads that are not in spool files yet.
    package var heldBytes: Int {
        self.uploads.isEmpty ? 0 : self.uploads.values.reduce(0) { $0 + $1.heldBytes }
    }

    /// Throws if the connection has its maximum number of transfers.
    package func checkRoom(max: Int = Limits.transfersPerConnectionMax) throws(NestError) {
        guard self.uploads.count + self.downloads.count < max else {
            let text = "at most \(max) transfers at a time on one connection"
            throw NestError(.limitExceeded, text)
        }
    }

    /// CANCEL: drops a transfer. Returns false when there is none, or when the engine already has it.
    package mutating func cancel(_ id: UInt32) -> Bool {
        if let download = self.downloads.removeValue(forKey: id) {
            download.cancel()
        } else if let upload = self.uploads[id], !upload.isCommitting {
            self.uploads[id] = nil
        } else {
            return false
        }
        return true
    }

    /// Cancels all transfers, because the connection ends.
    package mutating func cancelAll() {
        for download in self.downloads.values { download.cancel() }
        self.downloads = [:]
        self.uploads = [:]
    }

    /// Removes uploads that the engine has answered.
    package mutating func answered(_ requests: [UInt32]) {
        guard !self.uploads.isEmpty else { return }
        for id in requests { self.uploads[id] = nil }
    }

    // MARK: Uploads

    package mutating func add(_ upload: Upload, id: UInt32) { self.uploads[id] = upload }

    package mutating func received(chunk: [UInt8], id: UInt32) -> Upload.Action {
        self.go(on: id, self.uploads[id]?.received(chunk: chunk))
    }

    package mutating func received(_ end: SubtreeEnd, id: UInt32) -> Upload.Action {
        self.go(on: id, self.uploads[id]?.received(end))
    }

    /// Takes a stage back from the thread that wrote `byteCount` bytes with it. Returns `nil` if the upload was removed
    /// meanwhile.
    package mutating func staged(
        _ result: Result<UploadStage, NestError>,
        byteCount: Int,
        id: UInt32
    ) -> Upload.Action? {
        guard self.uploads[id] != nil else { return nil }
        switch result {
        case .success(let stage): return self.go(on: id, self.uploads[id]?.staged(stage, byteCount: byteCount))
        case .failure(let error): return self.go(on: id, .fail(error))
        }
    }

    private mutating func go(on id: UInt32, _ action: Upload.Action?) -> Upload.Action {
        guard let action else { return .none }
        if case .fail = action { self.uploads[id] = nil }
        return action
    }

    // MARK: Downloads

    package mutating func add(_ download: Download, id: UInt32) { self.downloads[id] = download }

    package func hasDownload(_ id: UInt32) -> Bool { self.downloads[id] != nil }

    package var hasDownloads: Bool { !self.downloads.isEmpty }

    /// The downloads, in the order in which they take turns.
    package var downloadIDs: [UInt32] { self.downloads.keys.sorted() }

    package mutating func removeDownload(_ id: UInt32) { self.downloads[id] = nil }

    package mutating func opened(_ content: Download.Content, id: UInt32) { self.downloads[id]?.opened(content) }

    /// Adds credit to a download. Credit for anything else is stale and ignored.
    package mutating func granted(_ bytes: Int, id: UInt32) { self.downloads[id]?.granted(bytes) }

    package mutating func read(_ chunk: SpooledChunk?, id: UInt32) { self.downloads[id]?.read(chunk) }

    /// Returns the next step of a download. Removes a download that ends.
    package mutating func proceed(_ id: UInt32, isWritable: Bool) -> Download.Action {
        let action = self.downloads[id]?.proceed(isWritable: isWritable) ?? .none
        if case .end = action { self.downloads[id] = nil }
        return action
    }
}
