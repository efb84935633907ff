import Foundation
import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// Predicates with key paths are those of the query language.
@Suite struct TypedPredicateTests {
    private typealias Everything = TypesModel.Everything

    private let entity: NamedEntity

    init() throws {
        let model = try TypesModel.read()
        self.entity = NamedEntity(try #require(model.entity(named: "Everything")), in: model)
    }

    private func expect(
        _ predicate: TypedPredicate<Everything>,
        _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let typed = try predicate.predicate(of: self.entity)
        let read = try FetchPredicate(text, of: self.entity.description, in: self.entity.model)
        #expect(typed.isWellFormed, sourceLocation: sourceLocation)
        #expect(typed.canonical ?? typed == read.canonical ?? read, sourceLocation: sourceLocation)
    }

    @Test func operatorsAreThoseOfTheText() throws {
        try self.expect(\.text == "a", "text == 'a'")
        try self.expect(\.whole != 3, "whole != 3")
        try self.expect(\.whole < 3 && \.whole >= -1, "whole < 3 AND whole >= -1")
        try self.expect(\.real > 0.5 || \.real <= -2, "real > 0.5 OR real <= -2.0")
        try self.expect(!(\.flag == true), "NOT flag == YES")
        try self.expect(\.note == nil, "note == nil")
        try self.expect(\.note == "b", "note == 'b'")
        try self.expect(3...5 ~= \.whole, "whole BETWEEN {3, 5}")
        try self.expect(\.short == 7 && \.middle == 8, "short == 7 AND middle == 8")
        try self.expect(\.moment < Foundation.Date(timeIntervalSince1970: 0), "moment < DATE('1970-01-01T00:00:00Z')")
        try self.expect(.isIn(\.whole, [1, 2]), "whole IN {1, 2}")
        try self.expect(.contains(\.text, "x", ignoring: .caseInsensitive), "text CONTAINS[c] 'x'")
        try self.expect(.begins(\.text, with: "x"), "text BEGINSWITH 'x'")
        try self.expect(
            .ends(\.note, with: "x", ignoring: [.caseInsensitive, .diacriticInsensitive]),
            "note ENDSWITH[cd] 'x'"
        )
        try self.expect(.like(\.text, "a*"), "text LIKE 'a*'")
        try self.expect(.matches(\.text, "a+"), "text MATCHES 'a+'")
        try self.expect(.equals(\.text, "A", ignoring: .caseInsensitive), "text ==[c] 'A'")
    }

    @Test func pathsGoThroughRelationships() throws {
        try self.expect(\.owner == ObjectID(3), "owner == 3")
        try self.expect(\.owner == nil && \.where_ != nil, "owner == nil AND where != nil")
        try self.expect(\.owner.name == "Ann", "owner.name == 'Ann'")
        try self.expect(\.owner.things.count > 2, "owner.things.@count > 2")
        try self.expect(\.owner.things.any.text == "a", "ANY owner.things.text == 'a'")
        try self.expect(\.owner.things.any.where_.things.count > 2, "ANY owner.things.where.things.@count > 2")
        try self.expect(\.owner.things.all.flag == true, "ALL owner.things.flag == YES")
        try self.expect(\.owner.things.none.where_.name == "b", "NONE owner.things.where.name == 'b'")
    }

    /// A chain is one node: as long as the text's, and no deeper.
    @Test func chainsAreNotDeep() throws {
        let numbers = Array(0..<100)
        let terms = numbers.map { number -> TypedPredicate<Everything> in \.whole == number }
        let text = numbers.map { "whole == \($0)" }
        try self.expect(terms.dropFirst().reduce(terms[0], ||), text.joined(separator: " OR "))
        try self.expect(terms.dropFirst().reduce(terms[0], &&), text.joined(separator: " AND "))
        let wheres = terms.reduce(Everything.all) { $0.where($1) }
        let request = try wheres.named(in: try TypedEntity(self.entity)).request
        #expect(request.predicate.nodes.count == 101 && request.predicate.nodes.last == .and(100))
    }

    /// An attribute may be named as the order of a relationship is.
    @Test func theOrderOfARelationshipIsNoAttribute() throws {
        let entity = try TypedEntity<Everything>(self.entity)
        let ordered = try Everything.where(\.owner == ObjectID(1)).sorted(by: \.text).inOrder().named(in: entity)
        #expect(ordered.request.sort == [.order])
        let sorted = try Everything.all.sorted(by: \.order, .descending).sorted(by: \.owner.name).named(in: entity)
        let order = try self.entity.property("order")
        #expect(sorted.request.sort.count == 2 && sorted.request.sort[0] == OrderingTerm(order, isAscending: false))
        let unknown = #expect(throws: NestError.self) {
            try Everything.all.sorted(by: \.owner.things.any.text).sectioned(by: \.text).named(
                in: try TypedEntity(NamedEntity(.item, in: .nestedList))
            )
        }
        #expect(unknown?.code == .unknownProperty)
    }

    /// Random combinations, written both ways.
    @Test func combinationsAreThoseOfTheText() throws {
        for seed in Seeds.range(0..<200) {
            var random = SeededRandom(seed: seed)
            let (predicate, text) = Self.combination(depth: 4, &random)
            let typed = try predicate.predicate(of: self.entity)
            let read = try FetchPredicate(text, of: self.entity.description, in: self.entity.model)
            #expect(typed.canonical ?? typed == read.canonical ?? read, "seed \(seed): \(text)")
        }
    }

    private static func combination(
        depth: Int,
        _ random: inout SeededRandom
    ) -> (TypedPredicate<Everything>, String) {
        let number = random.below(9)
        guard depth > 0, !random.oneIn(4) else {
            switch random.below(3) {
            case 0: return (\.whole < number, "whole < \(number)")
            case 1: return (\.owner.name == "n\(number)", "owner.name == 'n\(number)'")
            default: return (.contains(\.text, "\(number)"), "text CONTAINS '\(number)'")
            }
        }
        let (left, leftText) = Self.combination(depth: depth - 1, &random)
        if random.oneIn(4) { return (!left, "NOT (\(leftText))") }
        let (right, rightText) = Self.combination(depth: depth - 1, &random)
        return random.oneIn(2)
            ? (left && right, "(\(leftText)) AND (\(rightText))") : (left || right, "(\(leftText)) OR (\(rightText))")
    }

    @Test func whatCannotBeAskedIsAnError() throws {
        let far = TypedPredicate<Everything>.isIn(\.moment, [Foundation.Date(timeIntervalSince1970: .infinity)])
        let error = #expect(throws: NestError.self) { try far.predicate(of: self.entity) }
        #expect(error?.code == .validationFailed)
        let unsaved: TypedPredicate<Everything> = \.owner == ObjectReference.inserted(1)
        #expect(throws: NestError.self) { try unsaved.predicate(of: self.entity) }
        // The types of another model.
        let model = ManagedObjectModel.nestedList
        let item = NamedEntity(try #require(model.entity(named: "Item")), in: model)
        let text: TypedPredicate<Everything> = \.text == "a"
        let unknown = #expect(throws: NestError.self) { try text.predicate(of: item) }
        #expect(unknown?.code == .unknownProperty)
    }
}

extension EntityDescription {
    fileprivate static let item = ManagedObjectModel.nestedList.entities[0]
}
