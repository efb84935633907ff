import NestModel
import NestProtocol
import NestSecrets

/// The undo state in the cache: the followers see the last one at once, until the server has sent the state. The cache
/// keeps it like a list, as a view whose only frame is UNDO_STATE.
extension ClientStateMachine {
    /// The request of that view: the body of GET_UNDO_STATE. No fetch request has these bytes.
    package static let undoStateKey = GetUndoState(follows: true).body

    /// The undo state is that of a session, too.
    package static func undoIdentity(_ identity: UInt64, session: Identifier128) -> UInt64 {
        var writer = ByteWriter()
        writer.write(integer: identity)
        let hash = TokenSecret(high: session, low: session).sha256
        writer.write(identifier: hash.high)
        writer.write(identifier: hash.low)
        return fnv1a(writer.bytes)
    }

    private var undoIdentity: UInt64 { Self.undoIdentity(self.cacheIdentity, session: self.hello.session) }

    /// Shows the followers a cached state, if there is no newer one.
    package mutating func beginUndoState(_ cached: CachedView?) -> [ClientAction] {
        // What the cache has lost is recorded again.
        if cached == nil { self.recordedUndoState = nil }
        guard let cached, self.followsUndoState, self.undoState == nil else { return [] }
        do throws(CacheFault) {
            var state = try self.undoState(of: cached)
            // A group ends with its connection.
            state.group = nil
            self.recordedUndoState = cached
            self.cachedUndoHistory = cached.historyID
            self.undoState = state
            return [.deliverUndoState(state)]
        } catch {
            self.recordedUndoState = nil
            let reason = "the cached undo state cannot be used: \(error)"
            return [.cache(.remove(request: cached.request, reason: reason))]
        }
    }

    private func undoState(of cached: CachedView) throws(CacheFault) -> UndoState {
        guard cached.identity == self.undoIdentity else {
            throw CacheFault("it is of another token, store or session")
        }
        if let welcome = self.welcome, welcome.historyID != cached.historyID {
            throw CacheFault("it is of another history of the store")
        }
        guard cached.frames.count == 1, let frame = cached.frames.first, frame.type == UndoStateMessage.type.rawValue
        else { throw CacheFault("it is not one UNDO_STATE") }
        guard fnv1a(frame.body) == cached.digest else { throw CacheFault("its digest is another one") }
        do throws(DecodingFailure) {
            return try ByteReader.read(frame.body) { reader throws(DecodingFailure) in try reader.undoState() }
        } catch {
            throw CacheFault("\(error)")
        }
    }

    /// Drops a cached undo state that the store of a new connection does not have.
    mutating func checkCachedUndoState() -> [ClientAction] {
        guard let history = self.cachedUndoHistory, let welcome = self.welcome, history != welcome.historyID
        else { return [] }
        self.cachedUndoHistory = nil
        self.undoState = UndoState()
        let reason = "the cached undo state is of another history of the store"
        return [
            .cache(.remove(request: Self.undoStateKey, reason: reason)), .deliverUndoState(UndoState()),
        ]
    }

    /// Records the state that the server has sent, unless the cache has it.
    mutating func recordUndoState(_ state: UndoState) -> [ClientAction] {
        guard self.usesCache, let welcome = self.welcome else { return [] }
        let frame = CachedFrame(UndoStateMessage(state))
        let digest = fnv1a(frame.body)
        if let last = self.recordedUndoState, last.frames == [frame], last.historyID == welcome.historyID,
            last.identity == self.undoIdentity
        {
            return []
        }
        let view = CachedView(
            request: Self.undoStateKey,
            identity: self.undoIdentity,
            modelHash: 0,
            historyID: welcome.historyID,
            revision: welcome.revision,
            digest: digest,
            recording: self.random.next(),
            sequence: 1,
            frames: [frame]
        )
        self.recordedUndoState = view
        return [.cache(.replace(view))]
    }
}
