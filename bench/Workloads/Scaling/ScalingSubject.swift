/// What grows in a series: a server with something on it. Two of them take turns, of which one stays at the smallest count.
protocol ScalingSubject {
    /// At each count each of them gets a sample, in this order.
    static var series: [Series] { get }
    /// Ascending. The second are of `--quick`.
    static var counts: (full: [Int], quick: [Int]) { get }
    /// Connections that it then has, when they are many: where descriptors are short, such counts are left out.
    static func connections(for count: Int) -> Int

    /// `most`: the largest count that there will be.
    init(_ options: BenchOptions, most: Int) async throws
    var server: ScalingServer { get }
    func grow(to count: Int) async throws
    /// About so many seconds of each series. A sample without operations says that they can not be done at this count.
    func sample(_ seconds: Double) async throws -> [Sample]
}

extension ScalingSubject {
    static func connections(for count: Int) -> Int { 0 }
}
