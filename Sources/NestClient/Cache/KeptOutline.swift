import NestModel
import NestProtocol

/// What the cache keeps of an outline: the last rows of the request as the program has first asked it, and the fold
/// states, which it keeps also while other rows are shown.
///
/// Its frames have the client's messages about fold states, too:
///
///     SUBSCRIBE      the request as the program has asked it
///     RESUBSCRIBE    the fold states from then on, instead of all before
///     SET_EXPANDED   fold states that were set
struct KeptOutline: Equatable, Sendable {
    /// The request as the program has asked it.
    let asked: ObjectFetchRequest
    /// The rows that are shown, if they are known.
    private var rows: SectionedSnapshot?
    /// Whether other rows are shown than those that the cache has.
    var isAway = false

    init(_ asked: ObjectFetchRequest) {
        self.asked = asked
    }

    /// Whether a request is that of the cached rows, whatever is folded.
    func isOf(_ request: ObjectFetchRequest) -> Bool {
        var request = request
        request.outline = self.asked.outline
        return request == self.asked
    }

    mutating func show(_ rows: SectionedSnapshot?) { self.rows = rows }

    /// Follows a diff that was applied to the shown rows. If it does not fit, its receiver asks for a snapshot.
    mutating func apply(_ diff: ResultsDiff) {
        guard var rows else { return }
        // So that there is one copy to change.
        self.rows = nil
        rows.revision = diff.from
        do throws(DiffMismatch) {
            try rows.apply(diff)
            self.rows = rows
        } catch {
            return
        }
    }

    mutating func move(to window: WindowPosition) { self.rows?.window = window }

    /// The frames of the shown rows with their fold states; `nil`: the rows are not known.
    func frames(_ folds: OutlineFolds, digest: UInt64) -> [CachedFrame]? {
        self.rows.map { Self.frames(self.asked, folds) + CachedView.frames(of: $0, digest: digest) }
    }

    /// The frames before a snapshot.
    static func frames(_ asked: ObjectFetchRequest, _ folds: OutlineFolds) -> [CachedFrame] {
        var frames = [CachedFrame(Subscribe(asked))]
        if folds.outline != asked.outline?.canonical { frames.append(Self.frame(asked, folds.outline)) }
        let states = folds.laterStates
        if !states.isEmpty { frames.append(Self.frame(states)) }
        return frames
    }

    static func frame(_ asked: ObjectFetchRequest, _ outline: FetchOutline) -> CachedFrame {
        var request = asked
        request.outline = outline
        return CachedFrame(Resubscribe(view: Limits.viewIDMin, request: request))
    }

    static func frame(_ states: [ExpandedState]) -> CachedFrame {
        CachedFrame(SetExpanded(view: Limits.viewIDMin, states: states))
    }
}

/// The fold states of a cached outline, from its frames.
package struct LoadedFolds: Equatable, Sendable {
    /// Those that the program had asked for.
    package private(set) var asked: FetchOutline
    /// Those that it had at the end.
    package private(set) var last: OutlineFolds

    init(_ asked: FetchOutline) {
        self.asked = asked.canonical
        self.last = OutlineFolds(asked)
    }

    mutating func replace(with outline: FetchOutline) { self.last = OutlineFolds(outline) }

    mutating func set(_ states: [ExpandedState]) { self.last.set(states) }

    /// Whether a program that asks for fold states goes on with the last ones: they are those that it asked for
    /// before, or it has kept the last ones itself. Otherwise it wants others.
    package func continues(_ outline: FetchOutline) -> Bool {
        let outline = outline.canonical
        return outline == self.asked || outline == self.last.outline
    }
}
