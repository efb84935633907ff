import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// The state of a view from the cache, rebuilt from its frames.
package struct LoadedView: Equatable, Sendable {
    /// The request of the state. A window around an object names the object that it followed last.
    package var request: ObjectFetchRequest
    package var state: SectionedSnapshot
    /// The newest revision at which the position of the window is known.
    package var positionRevision: Revision
    /// The fold states of an outline; `nil`: it is none.
    package var folds: LoadedFolds?
    package var recording: CacheRecording
    package var byteCount: Int
}

/// The cached view that a subscription continues.
package struct CacheRecording: Equatable, Sendable {
    package var request: [UInt8]
    package var modelHash: UInt64
    package var historyID: Identifier128
    package var number: UInt64
    package var sequence: Int
    /// The last revision that was recorded.
    package var revision: Revision
    package var digest: UInt64
}

extension ObjectFetchRequest {
    /// The request as the cache knows it: the same for all equal requests. An empty list of properties stays empty,
    /// because a client that names none may not know the model. An outline has one key, whatever is folded.
    package var cacheKey: [UInt8] {
        var request = self.canonical(in: .nestedList)
        if request.outline != nil { request.outline = FetchOutline() }
        if self.projection.isEmpty { request.projection = [] }
        var writer = ByteWriter()
        writer.write(fetchRequest: request)
        return writer.bytes
    }
}

extension CachedFrame {
    package init(_ message: some Message) {
        self.init(type: Swift.type(of: message).type.rawValue, body: message.body)
    }

    fileprivate func message<M: Message>(_ type: M.Type) throws(DecodingFailure) -> M {
        try ByteReader.read(self.body) { reader throws(DecodingFailure) in try M(from: &reader) }
    }
}

extension CachedView {
    package var byteCount: Int { self.frames.reduce(0) { $0 + $1.body.count } }

    /// Rebuilds the state from the frames, with the decoders of the connection. `request`: the program's spelling of
    /// the request.
    package func load(as request: ObjectFetchRequest) throws(CacheFault) -> LoadedView {
        do {
            var player = FramePlayer(request)
            for frame in self.frames { try player.play(frame) }
            var state = try player.finish()
            guard state.revision <= self.revision else { throw CacheFault("a frame is newer than the view") }
            guard state.digest == self.digest else {
                let (own, expected) = (ResultsDigest.text(state.digest), ResultsDigest.text(self.digest))
                throw CacheFault("its digest is \(own), and was \(expected)")
            }
            state.revision = self.revision
            let recording = CacheRecording(
                request: self.request,
                modelHash: self.modelHash,
                historyID: self.historyID,
                number: self.recording,
                sequence: self.sequence,
                revision: self.revision,
                digest: self.digest
            )
            return LoadedView(
                request: player.request,
                state: state,
                positionRevision: player.positionRevision,
                folds: player.folds,
                recording: recording,
                byteCount: self.byteCount
            )
        } catch let fault as CacheFault {
            throw fault
        } catch {
            throw CacheFault("its frames do not fit: \(error)")
        }
    }

    /// The same view as one snapshot.
    public func rewritten() throws(CacheFault) -> CachedView {
        var request: ObjectFetchRequest
        do throws(DecodingFailure) {
            request = try ByteReader.read(self.request) { reader throws(DecodingFailure) in try reader.fetchRequest() }
        } catch {
            throw CacheFault("its request cannot be read: \(error)")
        }
        var view = self
        let loaded = try self.load(as: request)
        var state = loaded.state
        // The rows have been the same since the last diff, so they are also those of the position's revision.
        if state.window != nil { state.revision = min(state.revision, loaded.positionRevision) }
        view.frames = Self.frames(of: state, digest: self.digest)
        if let folds = loaded.folds {
            request.outline = folds.asked
            view.frames = KeptOutline.frames(request, folds.last) + view.frames
        }
        if let window = state.window, loaded.positionRevision > state.revision {
            view.frames.append(CachedFrame(Totals(revision: loaded.positionRevision, window: window)))
        }
        return view
    }

    private static let rowsPerFrame = 512

    /// Writes a state as the server sends it first.
    package static func frames(of state: SectionedSnapshot, digest: UInt64) -> [CachedFrame] {
        let subscribed = Subscribed(
            view: Limits.viewIDMin,
            first: .snapshot,
            reason: "",
            projection: state.projection
        )
        var frames = [CachedFrame(subscribed)]
        if !state.totals.isEmpty {
            var totals = TotalsUpdate(revision: state.revision, values: state.totals)
            totals.sections = state.sections.enumerated().filter { !$0.element.totals.isEmpty }.map { index, section in
                TotalsUpdate.Section(index: index, values: section.totals)
            }
            frames.append(CachedFrame(ResultTotalsMessage(totals, isBeforeRows: true)))
        }
        let whole = WindowPosition(total: state.total, sectionTotal: state.sections.count, start: WindowStart())
        let header = SnapshotHeader(
            reason: .first,
            revision: state.revision,
            digest: digest,
            window: state.window ?? whole,
            sections: state.sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
        for (index, body) in header.bodies(sectionCount: header.sections.count).enumerated() {
            let type = index == 0 ? SnapshotMessage.type : SnapshotSections.type
            frames.append(CachedFrame(type: type.rawValue, body: body))
        }
        var rest = state.sections.flatMap(\.rows)[...]
        while !rest.isEmpty {
            let rows = rest.prefix(Self.rowsPerFrame)
            var writer = ByteWriter()
            writer.write(count: rows.count)
            for row in rows { writer.write(row: row) }
            frames.append(CachedFrame(SnapshotRows(bytes: writer.bytes)))
            rest = rest.dropFirst(rows.count)
        }
        return frames
    }
}

/// Applies the frames of a view in order.
private struct FramePlayer {
    /// Follows the anchor of a window, as a subscription does.
    private var subscription: Subscription
    private var projection: [PropertyNumber] = []
    private var totals: TotalsUpdate?
    private var assembler: SnapshotAssembler?
    private var state: SectionedSnapshot?
    private(set) var positionRevision = Revision(0)
    private(set) var folds: LoadedFolds?

    init(_ request: ObjectFetchRequest) {
        self.subscription = Subscription(request: request, subscriber: SubscriberID(0))
    }

    var request: ObjectFetchRequest { self.subscription.request }

    mutating func play(_ frame: CachedFrame) throws {
        if self.request.outline != nil, try self.fold(frame) { return }
        switch MessageType(rawValue: frame.type) {
        case .subscribed: self.projection = try frame.message(Subscribed.self).projection
        case .snapshot:
            let message = try frame.message(SnapshotMessage.self)
            self.assembler = SnapshotAssembler(message, projection: self.projection, totals: self.takeTotals())
            self.state = nil
        case .snapshotSections: try self.assembler?.add(sections: ByteBuffer(bytes: frame.body))
        case .snapshotRows: try self.assembler?.add(rows: ByteBuffer(bytes: frame.body))
        case .diff: try self.apply(try frame.message(DiffBody.self))
        case .totals:
            let position = try frame.message(Totals.self)
            _ = try self.finish()
            self.state?.window = position.window
            self.positionRevision = max(self.positionRevision, position.revision)
            self.subscription.follow(position.window)
        case .resultTotals:
            let message = try frame.message(ResultTotalsMessage.self)
            guard !message.isBeforeRows else {
                self.totals = message.totals
                return
            }
            _ = try self.finish()
            guard self.state?.apply(message.totals) == true else { throw CacheFault("totals of an unknown section") }
            self.advance(to: message.totals.revision)
        default: throw CacheFault("a frame has the type \(frame.type)")
        }
    }

    /// Takes the fold states of a frame. Returns whether it has any.
    private mutating func fold(_ frame: CachedFrame) throws -> Bool {
        switch MessageType(rawValue: frame.type) {
        case .subscribe: self.folds = try frame.message(Subscribe.self).request.outline.map(LoadedFolds.init)
        case .resubscribe:
            if let outline = try frame.message(Resubscribe.self).request.outline { self.folds?.replace(with: outline) }
        case .setExpanded: self.folds?.set(try frame.message(SetExpanded.self).states)
        default: return false
        }
        return true
    }

    private mutating func apply(_ body: DiffBody) throws {
        var diff = try body.diff(valueCount: self.projection.count, hasWindow: self.request.window != nil)
        _ = try self.finish()
        diff.totals = self.takeTotals()
        // Progress, which is not recorded, has led from the revision before to that of the diff.
        self.advance(to: diff.from)
        diff.from = self.state?.revision ?? diff.from
        try self.state?.apply(diff)
        self.positionRevision = diff.to
        self.subscription.follow(diff.window)
    }

    private mutating func advance(to revision: Revision) {
        if let held = self.state?.revision { self.state?.revision = max(held, revision) }
    }

    private mutating func takeTotals() -> TotalsUpdate? {
        defer { self.totals = nil }
        return self.totals
    }

    /// Returns the state after the frames so far.
    mutating func finish() throws -> SectionedSnapshot {
        if let assembler = self.assembler {
            self.assembler = nil
            let snapshot = try assembler.finish(hasWindow: self.request.window != nil)
            self.subscription.follow(snapshot.window)
            self.state = snapshot
            self.positionRevision = snapshot.revision
        }
        guard let state = self.state else { throw CacheFault("it has no snapshot") }
        if self.request.outline != nil {
            guard self.folds != nil else { throw CacheFault("it has no fold states") }
            guard OutlineState(state) != nil else { throw CacheFault("its rows are not those of an outline") }
        }
        return state
    }
}
