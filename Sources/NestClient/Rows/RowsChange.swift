import NestModel

/// A change of live rows, and the rows after it.
public struct RowsChange<Element: RowDecodable>: Sendable {
    /// What has happened.
    public let change: FetchedResultsChange
    /// All rows after the change.
    public let rows: FetchedRows<Element>
    /// What a diff does to a table or collection view in one batch; empty for every other change.
    public let events: [RowsEvent<Element>]
    /// Whether the rows are what the server has: see `ResultsSubscription.isCurrent`. `false` for the rows of the last
    /// run, from a cache.
    public let isCurrent: Bool
    /// Whether the rows are from a cache, and no server has confirmed them.
    let isFromCache: Bool

    init(
        _ change: FetchedResultsChange,
        _ rows: FetchedRows<Element>,
        _ events: [RowsEvent<Element>],
        isCurrent: Bool,
        isFromCache: Bool
    ) {
        self.change = change
        self.rows = rows
        self.events = events
        self.isCurrent = isCurrent
        self.isFromCache = isFromCache
    }

    /// Whether rows may have come, gone, moved or changed.
    public var changesRows: Bool {
        switch self.change {
        case .snapshot, .diff: true
        default: false
        }
    }

    /// Whether a diff includes a write of this client.
    public var isOwn: Bool {
        if case .diff(let diff) = self.change { diff.isOwn } else { false }
    }
}

/// One step of a batch of updates, in the order and with the coordinates of `FetchedResultsEvent`: every path `at`
/// refers to the rows before the change, every path `to` to those after it.
public enum RowsEvent<Element> {
    case deleteSection(at: Int)
    case insertSection(key: AttributeValue, to: Int)
    /// The row before the change.
    case delete(Element, at: RowPosition)
    case insert(Element, to: RowPosition)
    case move(Element, at: RowPosition, to: RowPosition)
    /// The row after the change.
    case update(Element, at: RowPosition, to: RowPosition)

    /// `rows` are those after the change, `old` returns the element of a row before it. `nil`: the event is the
    /// beginning or the end of the batch.
    init?(
        _ event: FetchedResultsEvent,
        _ rows: FetchedRows<Element>,
        old: (Row, RowPosition) throws -> Element
    ) rethrows {
        switch event {
        case .willChangeContent, .didChangeContent: return nil
        case .deleteSection(_, let index): self = .deleteSection(at: index)
        case .insertSection(let section, let index): self = .insertSection(key: section.key, to: index)
        case .delete(let row, let path): self = .delete(try old(row, path), at: path)
        case .insert(_, let path): self = .insert(rows[path], to: path)
        case .move(_, let old, let new): self = .move(rows[new], at: old, to: new)
        case .update(_, let old, let new): self = .update(rows[new], at: old, to: new)
        }
    }
}

extension RowsEvent: Sendable where Element: Sendable {}
extension RowsEvent: Equatable where Element: Equatable {}
