import NestModel

/// A validation fault without its message.
package struct NaiveFault: Hashable, CustomStringConvertible {
    package var entity: EntityNumber
    package var property: PropertyNumber?
    package var reason: ValidationFault.Reason

    package init(_ entity: EntityNumber, _ property: PropertyNumber?, _ reason: ValidationFault.Reason) {
        self.entity = entity
        self.property = property
        self.reason = reason
    }

    package var description: String { "\(self.entity.rawValue).\(self.property?.rawValue ?? 0) \(self.reason)" }
}

extension NaiveGraph {
    /// All faults of the graph: required values, counts, uniqueness.
    package var faults: Set<NaiveFault> {
        var faults: Set<NaiveFault> = []
        for (id, object) in self.objects {
            let entity = self.entity(object.entity)
            for attribute in entity.attributes where !attribute.isOptional && object.values[attribute.number] == .null {
                faults.insert(NaiveFault(object.entity, attribute.number, .required))
            }
            for relationship in entity.relationships {
                let count = self.related(id, relationship.number).count
                if !relationship.isToMany {
                    if count == 0, !relationship.isOptional, entity.root?.object != id {
                        faults.insert(NaiveFault(object.entity, relationship.number, .required))
                    }
                } else if count == 0, !relationship.isOptional {
                    faults.insert(NaiveFault(object.entity, relationship.number, .required))
                } else if count > 0, count < relationship.minimumCount {
                    faults.insert(NaiveFault(object.entity, relationship.number, .range))
                } else if relationship.maximumCount > 0, count > relationship.maximumCount {
                    faults.insert(NaiveFault(object.entity, relationship.number, .range))
                }
            }
        }
        for entity in self.model.entities {
            for constraint in entity.uniquenessConstraints {
                var seen: Set<[AttributeValue]> = []
                for id in self.ids(of: entity.number) {
                    let values = constraint.map { self.value(id, $0) }
                    if values.contains(.null) { continue }
                    // Either of the two objects may be reported, so the fault names the top entity.
                    if !seen.insert(values).inserted {
                        faults.insert(NaiveFault(self.top(entity.number), constraint[0], .notUnique))
                    }
                }
            }
        }
        return faults
    }

    /// Descriptions of relationships whose sides disagree, or that lead to an object twice or to a wrong entity.
    package var inverseFaults: [String] {
        var faults: [String] = []
        for (id, object) in self.objects {
            for relationship in self.entity(object.entity).relationships {
                let name = "\(id).\(relationship.name)"
                let list = self.related(id, relationship.number)
                if Set(list).count < list.count { faults.append("\(name) leads to an object twice: \(list)") }
                if !relationship.isToMany, list.count > 1 { faults.append("\(name) leads to several: \(list)") }
                for other in list {
                    guard let target = self.objects[other] else {
                        faults.append("\(name) leads to \(other), which does not exist")
                        continue
                    }
                    if !self.isKind(target.entity, of: relationship.destination) {
                        faults.append("\(name) leads to \(other), which is of another entity")
                    } else if !self.related(other, relationship.inverse).contains(id) {
                        faults.append("\(name) leads to \(other), which does not lead back")
                    }
                }
            }
        }
        return faults.sorted()
    }

    /// Returns the differences from another graph, for the messages of tests.
    package func differences(from other: NaiveGraph) -> [String] {
        var differences: [String] = []
        for id in Set(self.objects.keys).union(other.objects.keys).sorted() {
            guard let a = self.objects[id], let b = other.objects[id] else {
                differences.append("\(id) is only in \(self.objects[id] == nil ? "the second" : "the first")")
                continue
            }
            if a.entity != b.entity {
                differences.append("\(id): entity \(a.entity.rawValue) and \(b.entity.rawValue)")
            }
            for property in Set(a.values.keys).union(b.values.keys).sorted()
            where a.values[property] != b.values[property] {
                differences.append(
                    "\(id).\(property.rawValue): \(String(describing: a.values[property])) and \(String(describing: b.values[property]))"
                )
            }
            for property in Set(a.related.keys).union(b.related.keys).sorted()
            where a.related[property] != b.related[property] {
                differences.append(
                    "\(id).\(property.rawValue): \(a.related[property] ?? []) and \(b.related[property] ?? [])"
                )
            }
        }
        return differences
    }
}

extension NaiveGraph: Equatable {
    package static func == (a: NaiveGraph, b: NaiveGraph) -> Bool { a.objects == b.objects }
}
