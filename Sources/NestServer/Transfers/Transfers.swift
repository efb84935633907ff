import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// The uploads and downloads of one connection, by the ids of their requests. CHECK counts as a download without
/// content.
///
/// A transfer that is not here any more was refused or cancelled: what still arrives for it is skipped.
package struct Transfers: Sendable {
    private var uploads: [UInt32: Upload] = [:]
    private var downloads: [UInt32: Download] = [:]

    package init() {}

    package var isEmpty: Bool { self.uploads.isEmpty && self.downloads.isEmpty }

    /// Received bytes of uploads that are not in spool files yet.
    package var heldBytes: Int {
        self.uploads.isEmpty ? 0 : self.uploads.values.reduce(0) { $0 + $1.heldBytes }
    }

    /// Refuses one transfer more than a connection may have.
    package func checkRoom() throws(NestError) {
        guard self.uploads.count + self.downloads.count < Limits.transfersPerConnectionMax else {
            let text = "at most \(Limits.transfersPerConnectionMax) transfers at a time on one connection"
            throw NestError(.limitExceeded, text)
        }
    }

    /// CANCEL: drops a transfer. Returns false when there is none, or when the engine has it already.
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

    /// The connection ends.
    package mutating func cancelAll() {
        for download in self.downloads.values { download.cancel() }
        self.downloads = [:]
        self.uploads = [:]
    }

    /// The engine has answered these requests.
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

    /// A stage is back from the thread that wrote `byteCount` bytes with it. Returns `nil` when the upload is gone.
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

    /// The receiver allows more bytes of a download. A credit for anything else is stale.
    package mutating func granted(_ bytes: Int, id: UInt32) { self.downloads[id]?.granted(bytes) }

    package mutating func read(_ chunk: SpooledChunk?, id: UInt32) { self.downloads[id]?.read(chunk) }

    /// What a download does next. One that ends is not here any more.
    package mutating func proceed(_ id: UInt32, isWritable: Bool) -> Download.Action {
        let action = self.downloads[id]?.proceed(isWritable: isWritable) ?? .none
        if case .end = action { self.downloads[id] = nil }
        return action
    }
}
