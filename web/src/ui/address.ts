// Filters and tabs live in the address, so that every view can be linked and survives a reload.
import { useSearchParams } from "react-router";

// useAddressState is like useState for one text in the query of the address. The fallback is left out of the address.
export function useAddressState(
  name: string,
  fallback: string,
): [string, (value: string, alsoClear?: string[]) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = (value: string, alsoClear: string[] = []) =>
    setParameters(
      (before) => {
        const after = new URLSearchParams(before);
        for (const other of alsoClear) after.delete(other);
        if (value === fallback || value === "") after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return [parameters.get(name) ?? fallback, set];
}
