import NestLiveQuery
import NestModel
import NestOrder
import NestTestSupport
import Testing

/// Tests that a tree with sections equals the sorted list of its rows, divided where a function of their values
/// changes.
@Suite struct SectionedTreeTests {
    @Test func treeEqualsTheSortedRowsInSections() {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let world = SectionedWorld(&random)
            var items: [ObjectID: [AttributeValue]] = [:]
            var nextID: Int64 = 1
            for _ in 0..<random.below(200) {
                items[ObjectID(nextID)] = world.values(&random)
                nextID += 1
            }
            let loaded = items.map { world.key($0.value, $0.key) }.sorted()
            var tree = OrderStatisticTree(sorted: loaded, sectioning: Sectioning(world.source))
            var held: [(tree: OrderStatisticTree, items: [ObjectID: [AttributeValue]])] = [(tree, items)]
            for step in 0..<200 {
                let grows = (step / 100) % 2 == 0
                if items.isEmpty || random.oneIn(4) != grows {
                    let (id, values) = (ObjectID(nextID), world.values(&random))
                    nextID += 1
                    items[id] = values
                    let isNew = tree.insert(world.key(values, id))
                    #expect(isNew, "seed \(seed)")
                } else {
                    let id = items.keys.sorted().randomElement(using: &random)!
                    let wasThere = tree.remove(world.key(items.removeValue(forKey: id)!, id))
                    #expect(wasThere, "seed \(seed)")
                }
                if random.oneIn(60) { held.append((tree, items)) }
            }
            held.append((tree, items))
            for (tree, items) in held { Self.compare(tree, items.map { ($0, $1) }, world, &random, "seed \(seed)") }
        }
    }

    private static func compare(
        _ tree: OrderStatisticTree,
        _ items: [SectionedWorld.Item],
        _ world: SectionedWorld,
        _ random: inout SeededRandom,
        _ what: String
    ) {
        tree.validate()
        let sections = world.sections(items)
        let values = Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0.values) })
        #expect(Set(sections.map(\.key)).count == sections.count, "\(what): section names are not unique")
        #expect(tree.count == items.count && tree.sectionCount == sections.count, "\(what)")
        let snapshot = SectionedSnapshot(revision: Revision(1), projection: [], sections: sections)
        #expect(tree.digest.value == snapshot.digest, "\(what): wrong digest")
        var all: [(section: Int, id: ObjectID)] = []
        var names: [AttributeValue] = []
        for (index, section) in sections.enumerated() {
            names.append(section.key)
            for (row, item) in section.rows.enumerated() {
                let key = world.key(values[item.id]!, item.id)
                let start = tree.sectioning!.start(of: key.sort)
                #expect(tree.path(of: key) == RowPosition(index, row), "\(what): wrong path of \(item.id)")
                #expect(tree.sectionIndex(of: start) == index && tree.hasSection(start), "\(what)")
                #expect(tree.sectioning!.name(of: start) == section.key, "\(what): wrong name of \(values[item.id]!)")
                all.append((index, item.id))
            }
        }
        for _ in 0..<5 {
            let first = random.below(all.count + 1)
            let range = first..<(first + random.below(all.count - first + 1))
            var found: [ObjectID] = []
            tree.forEach(in: range) { found.append($0.id) }
            #expect(found == all[range].map(\.id), "\(what): wrong rows \(range)")
            var expected: [(key: AttributeValue, rows: Range<Int>)] = []
            for index in range {
                if index > range.lowerBound, all[index - 1].section == all[index].section {
                    expected[expected.count - 1].rows = expected[expected.count - 1].rows.lowerBound..<(index + 1)
                } else {
                    expected.append((names[all[index].section], index..<(index + 1)))
                }
            }
            #expect(
                tree.sections(of: range).elementsEqual(expected) { $0.key == $1.key && $0.rows == $1.rows },
                "\(what): wrong sections of \(range)"
            )
        }
        // The section of random values, which may not exist.
        let other = world.values(&random)
        let start = tree.sectioning!.start(of: world.key(other, ObjectID(1)).sort)
        #expect(tree.hasSection(start) == names.contains(world.name(other)), "\(what): section of \(other)")
    }

    /// The name of a section by value is the value that was written, whatever follows it in the key.
    @Test func sectionNameEqualsTheValueInTheKey() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let world = SectionedWorld(&random)
            guard world.function == .value, let sectioning = Sectioning(world.source) else { continue }
            for _ in 0..<20 {
                let values = world.values(&random)
                let name = sectioning.name(of: sectioning.start(of: world.key(values, ObjectID(1)).sort))
                #expect(name == world.name(values), "seed \(seed): \(values) by \(world.terms)")
            }
        }
    }
}
