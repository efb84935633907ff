import NestModel
import NestStore
import NestProtocol
import NestSchema

/// The changes of an undo that will be rolled back, as clients see them: its first objects, with names and values.
struct PreviewedChanges {
    private let store: Store
    private var objects: ChangedObjects
    private var values: [ObjectID: [UndoPreview.Value]] = [:]
    private var deletedLabels: [ObjectID: String] = [:]
    private var count = 0

    init(_ store: Store, _ sides: PairSides) {
        self.store = store
        self.objects = ChangedObjects(store, sides)
    }

    /// Fills the preview from change sets of the open transaction.
    mutating func fill(_ preview: inout UndoPreview, from sets: [ChangeSet]) throws(StoreError) {
        for set in sets {
            for object in set.changedRows where self.count < Limits.previewObjectsMax {
                if let layout = self.store.layout[object.entity], let change = object.change(layout) {
                    self.add(change, layout)
                }
            }
            for number in 0..<set.blockCount where self.count < Limits.previewObjectsMax {
                for change in try self.store.changes(ofBlock: number, of: set.revision) {
                    if let layout = self.store.layout[change.entity] { self.add(change, layout) }
                }
            }
        }
        let changed = try self.objects.objects(of: nil)
        if changed.count < Limits.previewObjectsMax {
            // All are known: pairs count as changes of the objects that they join.
            preview.insertedCount = changed.count { $0.kind == .inserted }
            preview.updatedCount = changed.count { $0.kind == .updated }
            preview.deletedCount = changed.count { $0.kind == .deleted }
        } else {
            preview.insertedCount = sets.reduce(0) { $0 + $1.insertedCount }
            preview.updatedCount = sets.reduce(0) { $0 + $1.updatedCount }
            preview.deletedCount = sets.reduce(0) { $0 + $1.deletedCount }
        }
        var bytes = ByteWriter()
        for object in changed.prefix(Limits.previewObjectsMax) {
            let values = object.kind == .updated ? self.values(object) : []
            let change = UndoPreview.Change(object: object, label: try self.label(object), values: values)
            bytes.write(previewedChange: change)
            guard bytes.count <= Limits.previewBytesMax else { break }
            preview.changes.append(change)
        }
    }

    /// Returns the changed values of an object, without attributes that one transaction changed and another changed
    /// back.
    private func values(_ object: ChangedObject) -> [UndoPreview.Value] {
        let layout = self.store.layout[object.entity]
        return (self.values[object.id] ?? []).filter { value in
            guard value.before == value.after, let slot = layout?.slot(of: value.property) else { return true }
            return layout?.columns[slot] == .reference
        }
    }

    private mutating func add(_ change: ObjectChange, _ layout: EntityLayout) {
        self.count += 1
        self.objects.add(change)
        guard !layout.isJoin else { return }
        switch change.kind {
        case .insert: break
        case .delete:
            let slot = layout.kind(change.entity).labelSlot
            self.deletedLabels[change.id] = change.values.first { $0.slot == slot }?.before.stringValue
        case .update:
            for value in change.values { self.add(layout.properties[value.slot], change.id, value.before, value.after) }
            for placing in change.placings {
                let property = layout.properties[layout.placedSlots[placing.place]]
                let before = placing.before.map { AttributeValue.reference($0.owner) } ?? .null
                self.add(property, change.id, before, placing.after.map { .reference($0.owner) } ?? .null)
            }
        }
    }

    private mutating func add(
        _ property: PropertyNumber,
        _ id: ObjectID,
        _ before: AttributeValue,
        _ after: AttributeValue
    ) {
        if let index = self.values[id]?.firstIndex(where: { $0.property == property }) {
            self.values[id]![index].after = after
        } else {
            self.values[id, default: []].append(.init(property: property, before: before, after: after))
        }
    }

    private func label(_ object: ChangedObject) throws(StoreError) -> String {
        let label: String?
        if object.kind == .deleted {
            label = self.deletedLabels[object.id]
        } else if let layout = self.store.layout[object.entity], let slot = layout.kind(object.entity).labelSlot {
            label = try self.store.row(object.entity, object.id)?.values[slot].stringValue
        } else {
            label = nil
        }
        return ObjectGraph.shortened(label ?? "")
    }
}
