import NestModel
import NestSchema

/// The values of a type in their order, each with the object that has it, null excepted: for the least and the greatest
/// one. Adding and removing a value is O(log n).
package struct OrderedValues {
    private var tree: OrderStatisticTree
    private let term: SortTerm

    /// Makes the values in O(n log n).
    package init(of type: AttributeType, _ values: some Sequence<(id: ObjectID, value: AttributeValue)>) {
        let term = SortTerm(.slot(0), form: SortTerm.Form(type, isOptional: true, isAlone: true), isDate: type == .date)
        self.term = term
        var keys = values.compactMap { Self.key($0.id, $0.value, term) }
        keys.sort()
        self.tree = OrderStatisticTree(sorted: keys)
    }

    private static func key(_ id: ObjectID, _ value: AttributeValue, _ term: SortTerm) -> RowKey? {
        guard !value.isNull else { return nil }
        var writer = SortKeyWriter()
        writer.write(value, term)
        return RowKey(writer.take(), id: id)
    }

    package var count: Int { self.tree.count }

    package mutating func insert(_ id: ObjectID, _ value: AttributeValue) {
        if let key = Self.key(id, value, self.term) { self.tree.insert(key) }
    }

    package mutating func remove(_ id: ObjectID, _ value: AttributeValue) {
        if let key = Self.key(id, value, self.term) { self.tree.remove(key) }
    }

    /// An object that has the least or the greatest value; `nil` if there are no values.
    package func object(_ function: AggregateFunction) -> ObjectID? {
        guard self.tree.count > 0 else { return nil }
        return self.tree.key(at: function == .maximum ? self.tree.count - 1 : 0).id
    }

    /// The estimated memory, in bytes.
    package var byteCount: Int { self.tree.byteCount }
}
