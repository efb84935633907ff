import NestProtocol
import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestSchema

/// The background snapshot read of a result that is too large to be read between two commits. Another thread performs
/// it, at a revision of its own.
package struct BackgroundRead: Sendable {
    /// The id by which the engine finds the read.
    package let id: UInt64
    let source: ResultSource
    let slots: [Int]
    let window: FetchWindow?
    /// Whether the window's anchor may be missing. The window of a resuming client then follows the row that took the
    /// anchor's position; the live result knows that row.
    let anchorMayBeMissing: Bool
    /// Whether the reading thread compresses the rows, because the client understands compressed frames.
    let compresses: Bool
    /// Whether only the rows are read, and not their values.
    private(set) var isOnlyState = false
    /// The outline whose rows are read; `nil`: a result is read.
    private(set) var outline: OutlineSource?
    /// Fold states of an outline to apply first, and who sets them.
    private var states: [ObjectID: Bool] = [:]
    private var scope = AuthorisationScope.everything

    /// `slots`: the slots of each row that are sent.
    init(
        id: UInt64,
        source: ResultSource,
        slots: [Int],
        window: FetchWindow?,
        anchorMayBeMissing: Bool,
        compresses: Bool
    ) {
        self.id = id
        self.source = source
        self.slots = slots
        self.window = window
        self.anchorMayBeMissing = anchorMayBeMissing
        self.compresses = compresses
    }

    /// Creates a read of the rows of a result without their values.
    init(id: UInt64, rowsOf source: ResultSource) {
        self.init(id: id, source: source, slots: [], window: nil, anchorMayBeMissing: true, compresses: false)
        self.isOnlyState = true
    }

    /// Creates a read of the rows of an outline without their values.
    init(id: UInt64, outline: OutlineSource, _ states: [ObjectID: Bool], _ scope: AuthorisationScope) {
        self.init(id: id, rowsOf: outline.children)
        self.outline = outline
        self.states = states
        self.scope = scope
    }

    /// The outcome of a read.
    ///
    /// Sendable unchecked, because the nodes of its tree are objects. The reader creates them, hands them over and
    /// keeps none; afterwards only the engine uses them.
    package struct Rows: @unchecked Sendable {
        package let revision: Revision
        let state: LiveState
        /// The rows that the window shows.
        let range: Range<Int>
        let header: SnapshotHeader
        let bodies: [SharedBytes]
        let totals: [UInt8]?
        let isAnchorGone: Bool
        /// The rows of an outline, and whether the object above them exists.
        private(set) var outline: [FlatTree.Entry] = []
        private(set) var hasOutlineRoot = false
        /// The fold states after those that the read has applied; `nil`: it had none to apply.
        fileprivate(set) var outlineFolds: OutlineFolds?
        /// The memory that the rows take while they are held.
        package let share: AnswerShare

        /// The answer to a fetch.
        package var reply: EngineReply { .snapshot(self.header, rows: self.bodies, totals: self.totals) }
    }

    /// Work that any thread may do.
    package typealias Work = @Sendable () -> Void

    /// Performs the read. Blocks: call it on a thread that may block. O(n log n). `help`: runs some of the work on
    /// another thread, if one is free.
    package func run(
        _ reader: StoreReader,
        memory: AnswerMemory = AnswerMemory(),
        watch: ReadDeadline = .none,
        help: @escaping (@escaping Work) -> Void = { _ in }
    ) -> Result<Rows, NestError> {
        Result { () throws(NestError) in
            try reader.read(deadline: watch) { (objects, revision) throws(StoreError) in
                try self.rows(objects, revision, memory.share(), watch, help)
            }
        }
    }

    private func rows(
        _ objects: ObjectReader,
        _ revision: Revision,
        _ share: AnswerShare,
        _ watch: ReadDeadline,
        _ help: @escaping (@escaping Work) -> Void
    ) throws(StoreError) -> Rows {
        let related = RelatedState(objects)
        if let outline { return try self.rows(outline, objects, related, revision, share, watch) }
        try related.retain(self.source)
        let read = try objects.resultRows(self.source, related, watch: watch) { (bytes) throws(StoreError) in
            try share.grow(by: bytes)
        }
        let state = LiveState(self.source, read)
        try share.grow(by: state.totalsByteCount)
        if self.isOnlyState { return Rows(only: state, revision, share) }
        let anchor =
            self.anchorMayBeMissing
            ? try? View.anchor(self.window, state.tree) : try View.anchor(self.window, state.tree)
        let range = View.range(self.window, anchor, state.tree)
        let totals = try ViewTotals.all(self.source, state, range, revision)
        let (sections, rows) = try objects.encodedRows(
            self.source,
            state.tree,
            range,
            slots: self.slots,
            onBody: { (body) throws(StoreError) in
                try share.grow(by: body.bytes.count)
                guard self.compresses, body.bytes.count >= Limits.frameCompressedBytesMin else { return }
                help { _ = body.compressed(by: Zstandard.Compressor()) }
            },
            columns: { read.columns[$0] ?? [] }
        )
        let header = SnapshotHeader(
            reason: .first,
            revision: revision,
            digest: rows.digest.value,
            window: state.tree.position(of: range, anchor: anchor?.id),
            sections: sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
        if self.compresses {
            // The bodies that no other thread has compressed.
            let compressor = Zstandard.Compressor()
            for body in rows.bodies where body.bytes.count >= Limits.frameCompressedBytesMin {
                _ = body.compressed(by: compressor)
            }
        }
        return Rows(
            revision: revision,
            state: state,
            range: range,
            header: header,
            bodies: rows.bodies,
            totals: totals,
            isAnchorGone: anchor == nil && self.window?.isAround == true,
            share: share
        )
    }
}

// MARK: Outlines

extension BackgroundRead {
    private func rows(
        _ outline: OutlineSource,
        _ objects: ObjectReader,
        _ related: RelatedState,
        _ revision: Revision,
        _ share: AnswerShare,
        _ watch: ReadDeadline
    ) throws(StoreError) -> Rows {
        var rows = Rows(only: LiveState(self.source, ResultRows()), revision, share)
        var outline = outline
        if !self.states.isEmpty {
            let confinement = try self.scope.confinement(objects)
            for (id, isExpanded) in self.states {
                try watch.check()
                let row = try Outlines.visible(outline.table, id, objects, confinement)
                outline.folds.set(id, isExpanded, row)
            }
            rows.outlineFolds = outline.folds
        }
        guard try objects.row(outline.table, outline.root) != nil else { return rows }
        var reader = OutlineReader(outline, objects, related, budget: .max)
        reader.check = { () throws(StoreError) in try watch.check() }
        reader.grow = { (bytes) throws(StoreError) in try share.grow(by: bytes) }
        rows.take(outline: try reader.rows(below: outline.root, depth: 0).rows)
        return rows
    }
}

extension BackgroundRead.Rows {
    /// The rows of a result without their values.
    fileprivate init(only state: LiveState, _ revision: Revision, _ share: AnswerShare) {
        self.init(
            revision: revision,
            state: state,
            range: 0..<0,
            header: SnapshotHeader(
                reason: .first,
                revision: revision,
                digest: ResultsDigest.empty.value,
                window: state.tree.position(of: 0..<0),
                sections: []
            ),
            bodies: [],
            totals: nil,
            isAnchorGone: false,
            share: share
        )
    }

    fileprivate mutating func take(outline rows: [FlatTree.Entry]) {
        self.outline = rows
        self.hasOutlineRoot = true
    }
}
