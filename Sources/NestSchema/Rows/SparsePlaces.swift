/// The positions of one object, by `EntityLayout.placedSlots`.
///
/// The first one is stored in place: the objects of most entities have at most one, and an array would take memory of
/// its own for each row. Frozen and usable from inline, as `ByteWriter` is.
@frozen
@usableFromInline
package struct SparsePlaces: Hashable, Sendable, ExpressibleByArrayLiteral {
    @usableFromInline var first: SparsePlace
    /// The positions after the first.
    @usableFromInline var others: [SparsePlace]
    @usableFromInline package let count: Int

    /// Returns `count` positions that are `.none`.
    @inlinable
    package init(count: Int) {
        self.first = .none
        self.others = count > 1 ? [SparsePlace](repeating: .none, count: count - 1) : []
        self.count = count
    }

    package init(_ places: [SparsePlace]) {
        self.init(count: places.count)
        for (index, place) in places.enumerated() { self[index] = place }
    }

    @usableFromInline
    package init(arrayLiteral elements: SparsePlace...) { self.init(elements) }

    @inlinable
    package var indices: Range<Int> { 0..<self.count }

    @inlinable
    package subscript(_ index: Int) -> SparsePlace {
        get {
            precondition(index >= 0 && index < self.count, "a place is one of the object's table")
            return index == 0 ? self.first : self.others[index - 1]
        }
        set {
            precondition(index >= 0 && index < self.count, "a place is one of the object's table")
            if index == 0 { self.first = newValue } else { self.others[index - 1] = newValue }
        }
    }
}
