import NestModel
import NestOrder
import NestSchema

/// The values of a type in their order, each with the object that has it, null excepted: for the least and the greatest
/// one. Adding and removing a value is O(log n).
package struct OrderedValues {
    private var tree: OrderStatisticTree
    private let term: OrderTerm

    /// Makes the values in O(n log n).
    package init(of type: AttributeType, _ values: some Sequence<(id: ObjectID, value: AttributeValue)>) {
        let term = Self.term(of: type)
        self.term = term
        var keys = values.compactMap { Self.key($0.id, $0.value, term) }
        keys.sort()
        self.tree = OrderStatisticTree(sorted: keys, hasDigests: false)
    }

    fileprivate static func term(of type: AttributeType) -> OrderTerm {
        OrderTerm(OrderTerm.Form(type, isOptional: true, isAlone: true), isDate: type == .date)
    }

    fileprivate static func key(_ id: ObjectID, _ value: AttributeValue, _ term: OrderTerm) -> RowKey? {
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

    /// Replaces the value of an object; `nil`: it was not there, or is no longer. O(log n).
    package mutating func replace(_ id: ObjectID, _ old: AttributeValue?, _ new: AttributeValue?) {
        let before = old.flatMap { Self.key(id, $0, self.term) }
        let after = new.flatMap { Self.key(id, $0, self.term) }
        guard before != after else { return }
        if let before { self.tree.remove(before) }
        if let after { self.tree.insert(after) }
    }

    /// An object that has the least or the greatest value; `nil` if there are no values.
    package func object(_ function: AggregateFunction) -> ObjectID? {
        guard self.tree.count > 0 else { return nil }
        return self.tree.key(at: function == .maximum ? self.tree.count - 1 : 0).id
    }

    /// The estimated memory, in bytes.
    package var byteCount: Int { self.tree.byteCount }
}

/// The least and the greatest of values of a type that come one after the other; null without values.
package struct ExtremeValues {
    package private(set) var minimum = AttributeValue.null
    package private(set) var maximum = AttributeValue.null
    private var keys: (minimum: RowKey, maximum: RowKey)?
    private let term: OrderTerm

    package init(of type: AttributeType) {
        self.term = OrderedValues.term(of: type)
    }

    package mutating func note(_ id: ObjectID, _ value: AttributeValue) {
        guard let key = OrderedValues.key(id, value, self.term) else { return }
        guard let keys else {
            self.keys = (key, key)
            (self.minimum, self.maximum) = (value, value)
            return
        }
        if key < keys.minimum {
            self.keys?.minimum = key
            self.minimum = value
        }
        if keys.maximum < key {
            self.keys?.maximum = key
            self.maximum = value
        }
    }
}
