/// A set that is searched linearly while it is small, and that allocates no memory for a single element. Most requests
/// change one object, and hashing it would cost more than comparing it.
struct SmallSet<Element: Hashable> {
    private static var searchedMax: Int { 8 }

    private var first: Element?
    private var few: [Element] = []
    private var many: Set<Element> = []

    func contains(_ element: Element) -> Bool {
        if self.first == element { return true }
        return self.many.isEmpty ? self.few.contains(element) : self.many.contains(element)
    }

    mutating func removeAll() {
        self.first = nil
        // Most sets have only a first element: nothing is released for them.
        if !self.few.isEmpty { self.few = [] }
        if !self.many.isEmpty { self.many = [] }
    }

    mutating func insert(_ element: Element) {
        if self.first == nil {
            self.first = element
        } else if self.first == element {
            return
        } else if !self.many.isEmpty {
            self.many.insert(element)
        } else if !self.few.contains(element) {
            self.few.append(element)
            if self.few.count > Self.searchedMax {
                self.many = Set(self.few)
                self.few = []
            }
        }
    }
}
