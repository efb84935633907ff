import NestModel

/// A store of the last states of lists and outlines, of the model, and of the undo state. A client that has one shows a
/// list at once, also without a server, and then gets the difference. `CacheFile` of NestCache keeps them in a file.
///
/// A cache serves one store and one user. It gets frames as the server sent them and gives them back; the client checks
/// them. A cache may forget everything at any time.
public protocol ResultsCache: Sendable {
    /// The last model that a client has read.
    func model() async -> CachedModel?

    /// The state of the view with this request, with everything that was recorded before this call.
    func view(_ request: [UInt8]) async -> CachedView?

    /// Records changes, in this order. Returns at once: the client's event loop calls it.
    func record(_ changes: [CacheChange])

    /// Returns when everything that was recorded is kept.
    func flush() async
}

/// A model in the byte form of MODEL, with its hash.
public struct CachedModel: Hashable, Sendable {
    /// Of the client that has read it: see `CachedView.identity`.
    public var identity: UInt64
    public var hash: UInt64
    public var bytes: [UInt8]

    public init(identity: UInt64, hash: UInt64, bytes: [UInt8]) {
        self.identity = identity
        self.hash = hash
        self.bytes = bytes
    }
}

/// A message of the server, as it came; of an outline also the client's SUBSCRIBE, RESUBSCRIBE and SET_EXPANDED, which
/// have its fold states.
public struct CachedFrame: Hashable, Sendable {
    public var type: UInt8
    public var body: [UInt8]

    public init(type: UInt8, body: [UInt8]) {
        self.type = type
        self.body = body
    }
}

/// The last state of a view: SUBSCRIBED, a snapshot, and what has changed it since.
public struct CachedView: Hashable, Sendable {
    /// The canonical request, in its byte form; of an outline, without its fold states. It identifies the view. The
    /// view of the undo state has the body of GET_UNDO_STATE, which no fetch request has.
    public var request: [UInt8]
    /// A hash of the token and of the name of the store that the client was configured with. A client with another one
    /// does not use the state.
    public var identity: UInt64
    /// The hash of the model that the request was made for.
    public var modelHash: UInt64
    public var historyID: Identifier128
    /// The newest revision at which the state is exact.
    public var revision: Revision
    /// The digest of the state.
    public var digest: UInt64
    /// Identifies the snapshot that the frames begin with. Who continues another one must not add frames to this one.
    public var recording: UInt64
    /// The number of frames that were recorded since that snapshot, including its own, whether or not they were
    /// rewritten.
    public var sequence: Int
    public var frames: [CachedFrame]

    public init(
        request: [UInt8],
        identity: UInt64,
        modelHash: UInt64,
        historyID: Identifier128,
        revision: Revision,
        digest: UInt64,
        recording: UInt64,
        sequence: Int,
        frames: [CachedFrame]
    ) {
        self.request = request
        self.identity = identity
        self.modelHash = modelHash
        self.historyID = historyID
        self.revision = revision
        self.digest = digest
        self.recording = recording
        self.sequence = sequence
        self.frames = frames
    }
}

/// Something to keep, or to forget.
public enum CacheChange: Hashable, Sendable {
    case model(CachedModel)
    /// A new state of a view, instead of the last one.
    case replace(CachedView)
    /// Frames that change the state of a view.
    case append(CacheAppend)
    /// The state of a view is removed, for this reason.
    case remove(request: [UInt8], reason: String)
}

/// Frames that follow those of a view. They are dropped, unless `follows` returns `true`: otherwise another client has
/// written the same view.
public struct CacheAppend: Hashable, Sendable {
    public var request: [UInt8]
    public var recording: UInt64
    public var sequence: Int
    /// The revision of the state before the frames.
    public var base: Revision
    /// Empty: only the revision is new.
    public var frames: [CachedFrame]
    /// The revision and the digest of the state after the frames.
    public var revision: Revision
    public var digest: UInt64

    public init(
        request: [UInt8],
        recording: UInt64,
        sequence: Int,
        base: Revision,
        frames: [CachedFrame],
        revision: Revision,
        digest: UInt64
    ) {
        self.request = request
        self.recording = recording
        self.sequence = sequence
        self.base = base
        self.frames = frames
        self.revision = revision
        self.digest = digest
    }
}

extension CacheAppend {
    /// Whether the frames follow a state: that of this recording, after `sequence` frames, at the revision `base`.
    public func follows(recording: UInt64, sequence: Int, revision: Revision) -> Bool {
        self.recording == recording && self.sequence == sequence && self.base == revision
    }
}

/// Why a cached state cannot be used.
public struct CacheFault: Error, Hashable, CustomStringConvertible, Sendable {
    public var description: String

    init(_ description: String) {
        self.description = description
    }
}
