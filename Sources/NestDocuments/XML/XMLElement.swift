/// An element of an XML document, with everything in it.
struct XMLElement: Equatable {
    var name: String
    var attributes: [String: String] = [:]
    var children: [XMLElement] = []
    /// Its text; empty when that is only white space.
    var text = ""

    init(_ name: String) {
        self.name = name
    }

    subscript(_ attribute: String) -> String? { self.attributes[attribute] }

    /// The attribute's value; `nil` when it is empty.
    func text(_ attribute: String) -> String? { self[attribute].flatMap { $0.isEmpty ? nil : $0 } }

    func children(_ name: String) -> [XMLElement] { self.children.filter { $0.name == name } }
}
