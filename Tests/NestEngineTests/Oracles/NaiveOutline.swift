import NestModel

/// A naive nested list, to compare the engine with.
struct NaiveOutline: Equatable {
    struct Item: Equatable {
        var title: AttributeValue
        var note: AttributeValue = .null
        var done: AttributeValue = .boolean(false)
        var extra: AttributeValue = .null
        var parent: ObjectID?
        var children: [ObjectID] = []

        /// The values, in the order of the property numbers.
        var values: [AttributeValue] {
            [self.title, self.note, self.done, self.extra, self.parent.map { .reference($0) } ?? .null]
        }
    }

    var items: [ObjectID: Item] = [ObjectID(1): Item(title: .string(""))]

    func isInside(_ id: ObjectID, _ ancestor: ObjectID) -> Bool {
        var current: ObjectID? = id
        while let here = current {
            if here == ancestor { return true }
            current = self.items[here]?.parent
        }
        return false
    }

    mutating func insert(_ id: ObjectID, _ item: Item, under parent: ObjectID, at index: Int) {
        var item = item
        item.parent = parent
        self.items[id] = item
        self.items[parent]!.children.insert(id, at: index)
    }

    mutating func detach(_ id: ObjectID) {
        guard let parent = self.items[id]!.parent else { return }
        self.items[parent]!.children.removeAll { $0 == id }
    }

    /// Deletes an item and everything below it.
    mutating func delete(_ id: ObjectID) {
        self.detach(id)
        var cascade = [id]
        while let next = cascade.popLast() {
            cascade += self.items.removeValue(forKey: next)?.children ?? []
        }
    }
}
