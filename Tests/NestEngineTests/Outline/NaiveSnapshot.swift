import NestModel

/// All objects of a table at one revision, as an outline needs them.
struct NaiveSnapshot {
    struct Item {
        var parent: ObjectID?
        /// The place among the parent's children; equal places are ordered by id.
        var position: Int64 = 0
        var values: [PropertyNumber: AttributeValue] = [:]
    }

    let items: [ObjectID: Item]
    private let children: [ObjectID: [ObjectID]]

    init(_ items: [ObjectID: Item]) {
        self.items = items
        var children: [ObjectID: [ObjectID]] = [:]
        for (id, item) in items.sorted(by: { ($0.value.position, $0.key) < ($1.value.position, $1.key) }) {
            if let parent = item.parent { children[parent, default: []].append(id) }
        }
        self.children = children
    }

    func value(_ id: ObjectID, _ property: PropertyNumber) -> AttributeValue {
        self.items[id]?.values[property] ?? .null
    }

    func rows(below source: ObjectID, _ folds: NaiveFolds, isAdmitted: (Item) -> Bool = { _ in true }) -> NaiveShownRows
    {
        NaiveShownRows(
            below: source,
            children: { self.items[source] == nil ? [] : self.children[$0] ?? [] },
            isAdmitted: { isAdmitted(self.items[$0]!) },
            isUnfolded: { folds.isUnfolded($0, self.value) }
        )
    }
}
