export interface Store {
  name: string;
}

// Everything up to here vanishes
// when the types are taken away.
export function open(store: Store): void {
	return find(store).close();
}

function find(store: Store): any {
	return (store as any).missing;
}
