import NestModel

/// Which objects are the rows of a result, and in which order: part of what makes two requests share one.
///
/// Compiled from a fetch request, so that nothing is looked up by property on the way of a commit.
package struct ResultSource: Hashable, Sendable {
    package enum Membership: Hashable, Sendable {
        /// Every object of the kinds.
        case all
        /// Those whose slot points to the owner: a to-many relationship whose other side is to-one. `place` is the slot's
        /// of `ObjectRow.places`; `nil` when the relationship has no order.
        case owned(slot: Int, place: Int?, owner: ObjectID)
        /// Those that stand in a pair with the owner: a relationship that is to-many on both sides. `place` is the owner
        /// slot's, of the pair's row.
        case paired(join: EntityNumber, ownerSlot: Int, targetSlot: Int, place: Int?, owner: ObjectID)
    }

    /// The requested entity.
    package var entity: EntityNumber
    /// The topmost entity of the table that holds the rows.
    package var table: EntityNumber
    /// Entities whose objects are rows, ascending.
    package var kinds: [EntityNumber]
    /// The membership alone may lead to objects that are no rows: of other kinds, or not admitted by the filter.
    package var isFiltered: Bool
    package var membership: Membership
    /// Which of the objects are rows; `nil`: all of them.
    package var filter: RowFilter? {
        didSet { if self.filter != nil { self.isFiltered = true } }
    }
    /// Stands over the order of the relationship when it is not empty; either is completed by the ids.
    package var sort: [SortTerm]
    /// Values that other objects have a say in: first the columns that are sent, then what only the order needs.
    package var related: [RelatedValue] = []
    package var columnCount = 0
    /// What the first term of the order puts rows into sections by; `nil`: one section for all.
    package var section: SectionKey.Function?

    package init(
        entity: EntityNumber,
        table: EntityNumber,
        kinds: [EntityNumber],
        isFiltered: Bool = false,
        membership: Membership,
        sort: [SortTerm] = []
    ) {
        self.entity = entity
        self.table = table
        self.kinds = kinds
        self.isFiltered = isFiltered
        self.membership = membership
        self.sort = sort
    }

    /// The object whose relationship it is.
    package var owner: ObjectID? {
        switch self.membership {
        case .all: nil
        case .owned(_, _, let owner), .paired(_, _, _, _, let owner): owner
        }
    }

    /// The place that orders the rows; `nil` when something else does.
    package var orderingPlace: Int? {
        guard self.sort.isEmpty else { return nil }
        switch self.membership {
        case .all: return nil
        case .owned(_, let place, _), .paired(_, _, _, let place, _): return place
        }
    }

    package var isPaired: Bool {
        if case .paired = self.membership { true } else { false }
    }

    /// Whether a row is in it, and where, is not told by the row's own values alone.
    package var isComputed: Bool { self.isPaired || !self.related.isEmpty || !(self.filter?.isOwn ?? true) }

    /// Every value of other objects that it reads.
    package var relatedValues: [RelatedValue] { self.related + (self.filter?.relatedValues ?? []) }

    package func hasKind(_ entity: EntityNumber) -> Bool { self.kinds.contains(entity) }
}

/// One key of an order: a value of the rows, and how it is written so that its bytes are in the order.
package struct SortTerm: Hashable, Sendable {
    package enum Form: UInt8, Sendable {
        case text
        case decimal
        /// As many bytes as the number needs; null is possible.
        case integer
        /// Always eight bytes; there are no nulls.
        case wideInteger
        case double
        case boolean
        case data
        case uuid
    }

    package enum Operand: Hashable, Sendable {
        case slot(Int)
        /// Of `ResultSource.related`.
        case related(Int)
    }

    package var operand: Operand
    package var isAscending: Bool
    package var form: Form
    /// Of text.
    package var folding: TextFolding
    /// Its numbers are dates.
    package var isDate: Bool

    package init(
        _ operand: Operand,
        isAscending: Bool = true,
        form: Form,
        folding: TextFolding = [],
        isDate: Bool = false
    ) {
        self.operand = operand
        self.isAscending = isAscending
        self.form = form
        self.folding = folding
        self.isDate = isDate
    }

    package var slot: Int? {
        if case .slot(let slot) = self.operand { slot } else { nil }
    }
}

extension SortTerm.Form {
    /// `isAlone`: the only key of its order. A number alone takes eight bytes whatever it is; among others it is as short as
    /// it can be, so that most orders by two of them take no more.
    package init(_ type: AttributeType, isOptional: Bool, isAlone: Bool) {
        switch type {
        case .string, .uri: self = .text
        case .decimal: self = .decimal
        case .integer, .integer16, .integer32, .date:
            self = isAlone && !isOptional ? .wideInteger : .integer
        case .double, .float: self = .double
        case .boolean: self = .boolean
        case .data: self = .data
        case .uuid: self = .uuid
        }
    }
}
